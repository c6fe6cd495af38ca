#include "espalier/io/run_record_io.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "espalier/io/json_text.h"
#include "espalier/io/text_file.h"
#include "espalier/io/text_input.h"
#include "espalier/model/error.h"

namespace espalier {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kFormat = "espalier run";
constexpr std::int64_t kVersion = 1;

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

void write_node(TextOutput& out, const Task& node, double max_workers, bool last) {
  const std::string parent =
      node.parent ? fmt::format("{}", index(*node.parent)) : std::string("null");
  out.line(
      "  {{\"parent\": {}, \"output_bytes\": {}, \"execution_bytes\": {}, "
      "\"retained_bytes\": {}, \"work_flops\": {}, \"max_workers\": {}}}{}",
      parent, node.output_size, node.execution_size, node.retained_size, node.work,
      max_workers, last ? "" : ",");
}

void write_task(TextOutput& out, const RunRecord& run, std::size_t id) {
  const RunRecord::Task& task = run.tasks[id];
  out.print("  {{\"node\": {}, \"kind\": {}", task.node, quoted(run.kinds[task.kind]));
  const auto optional = [&](const char* key, std::int32_t value) {
    if (value >= 0) out.print(", \"{}\": {}", key, value);
  };
  optional("front", task.front);
  optional("column", task.column);
  optional("row", task.row);
  optional("source", task.source);
  out.print(
      ", \"worker\": {}, \"priority\": {}, \"start\": {}, \"seconds\": {}, "
      "\"processor_seconds\": {}, \"taken_bytes\": {}, \"kept_bytes\": {}, \"after\": "
      "[{}]}}",
      task.worker, task.priority, task.start, task.seconds, task.processor, task.taken,
      task.kept, fmt::join(run.waits_for(id), ", "));
  out.line("{}", id + 1 == run.tasks.size() ? "" : ",");
}

/// A value of the file and where it stands, for messages.
class Member {
 public:
  Member(const std::string& file, std::string place, const Json& value)
      : file_(file), place_(std::move(place)), value_(value) {}

  [[noreturn]] void refuse(const std::string& why) const {
    const std::string place = place_.empty() ? "" : place_ + ": ";
    throw FileError(file_, 0, fmt::format("{}{} {}", place, shown(), why));
  }

  [[nodiscard]] Member at(const char* key) const {
    if (!value_.is_object()) refuse("is not an object");
    const auto found = value_.find(key);
    const std::string place = place_.empty() ? key : fmt::format("{}.{}", place_, key);
    if (found == value_.end())
      throw FileError(file_, 0, fmt::format("{} is missing", place));
    return {file_, place, *found};
  }
  [[nodiscard]] bool has(const char* key) const { return value_.contains(key); }
  [[nodiscard]] bool is_null() const { return value_.is_null(); }

  [[nodiscard]] std::size_t size() const {
    if (!value_.is_array()) refuse("is not an array");
    return value_.size();
  }
  [[nodiscard]] Member item(std::size_t i) const {
    return {file_, fmt::format("{}[{}]", place_, i), value_[i]};
  }

  [[nodiscard]] std::string text() const {
    if (!value_.is_string()) refuse("is not a string");
    return value_.get<std::string>();
  }
  [[nodiscard]] std::int64_t integer(std::int64_t least, std::int64_t most) const {
    if (!value_.is_number_integer()) refuse("is not an integer");
    if (value_.is_number_unsigned() &&
        value_.get<std::uint64_t>() >
            std::uint64_t{std::numeric_limits<std::int64_t>::max()})
      refuse("is out of range");
    const auto value = value_.get<std::int64_t>();
    if (value < least) refuse(fmt::format("is below {}", least));
    if (value > most) refuse(fmt::format("is above {}", most));
    return value;
  }
  [[nodiscard]] std::int32_t small(std::int64_t least, std::int64_t most) const {
    return static_cast<std::int32_t>(integer(least, most));
  }
  [[nodiscard]] double number(double least) const {
    if (!value_.is_number()) refuse("is not a number");
    const double value = value_.get<double>();
    if (!std::isfinite(value)) refuse("is out of range");
    if (value < least) refuse(fmt::format("is below {}", least));
    return value;
  }

 private:
  [[nodiscard]] std::string shown() const {
    constexpr std::size_t kMost = 60;
    std::string text = value_.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > kMost) text = text.substr(0, kMost) + "…";
    return text;
  }

  const std::string& file_;
  std::string place_;
  const Json& value_;
};

constexpr std::int64_t kMostInt = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMostBytes = std::numeric_limits<Bytes>::max();

void read_nodes(const Member& nodes, RunRecord& run) {
  const std::size_t count = nodes.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Member item = nodes.item(i);
    Task& node = run.nodes.emplace_back();
    if (const Member parent = item.at("parent"); !parent.is_null()) {
      // Children stand before parents, so that there is no circle.
      const std::int64_t above = parent.integer(0, static_cast<std::int64_t>(count) - 1);
      if (above <= static_cast<std::int64_t>(i)) parent.refuse("is not a later node");
      node.parent = task_id(static_cast<std::size_t>(above));
    }
    node.output_size = item.at("output_bytes").integer(0, kMostBytes);
    node.execution_size = item.at("execution_bytes").integer(-kMostBytes, kMostBytes);
    node.retained_size = item.at("retained_bytes").integer(0, kMostBytes);
    node.work = item.at("work_flops").number(0);
    run.max_workers.push_back(item.at("max_workers").number(1));
  }
}

void read_after(const Member& after, RunRecord& run) {
  const auto own = static_cast<std::int64_t>(run.tasks.size()) - 1;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const Member item = after.item(i);
    const std::int64_t before = item.integer(0, kMostInt);
    if (before >= own) item.refuse("is not an earlier task");
    run.after.push_back(static_cast<std::int32_t>(before));
  }
  run.after_start.push_back(static_cast<std::int64_t>(run.after.size()));
}

void read_tasks(const Member& tasks, RunRecord& run) {
  std::map<std::string, std::int32_t> kinds;
  run.after_start = {0};
  const std::size_t count = tasks.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Member item = tasks.item(i);
    RunRecord::Task& task = run.tasks.emplace_back();
    task.node = item.at("node").small(0, std::ssize(run.nodes) - 1);
    const auto [kind, fresh] = kinds.try_emplace(
        item.at("kind").text(), static_cast<std::int32_t>(run.kinds.size()));
    if (fresh) run.kinds.push_back(kind->first);
    task.kind = kind->second;
    const auto optional = [&](const char* key) {
      return item.has(key) ? item.at(key).small(0, kMostInt) : -1;
    };
    task.front = optional("front");
    task.column = optional("column");
    task.row = optional("row");
    task.source = optional("source");
    task.worker = item.at("worker").small(0, run.workers - 1);
    task.priority = item.at("priority").small(-kMostInt, kMostInt);
    task.start = item.at("start").number(0);
    task.seconds = item.at("seconds").number(0);
    task.processor = item.at("processor_seconds").number(0);
    task.taken = item.at("taken_bytes").integer(0, kMostBytes);
    task.kept = item.at("kept_bytes").integer(-kMostBytes, task.taken);
    read_after(item.at("after"), run);
  }
}

RunRecord read(const Json& json, const std::string& name) {
  const Member file(name, "", json);
  if (const Member format = file.at("format"); format.text() != kFormat)
    format.refuse(fmt::format("is not \"{}\"", kFormat));
  if (const Member version = file.at("version"); version.integer(0, kMostInt) != kVersion)
    version.refuse(fmt::format("is not {}, the version that is known", kVersion));
  RunRecord run;
  run.input = file.at("input").text();
  run.operation = file.at("operation").text();
  run.order = file.at("order").text();
  run.mapping = file.at("mapping").text();
  run.workers = file.at("workers").small(1, kMostInt);
  run.seconds = file.at("seconds").number(0);
  run.overhead = file.at("overhead_seconds").number(0);
  if (const Member bound = file.at("bound_bytes"); !bound.is_null())
    run.bound = bound.integer(0, kMostBytes);
  read_nodes(file.at("nodes"), run);
  read_tasks(file.at("tasks"), run);
  return run;
}

}  // namespace

void write_run_record(std::ostream& stream, const RunRecord& run) {
  TextOutput out(stream);
  out.line("{{\"format\": \"{}\", \"version\": {},", kFormat, kVersion);
  out.line(" \"input\": {}, \"operation\": {},", quoted(run.input),
           quoted(run.operation));
  out.line(" \"order\": {}, \"mapping\": {}, \"workers\": {}, \"seconds\": {},",
           quoted(run.order), quoted(run.mapping), run.workers, run.seconds);
  out.line(" \"overhead_seconds\": {}, \"bound_bytes\": {},", run.overhead,
           run.bound ? fmt::format("{}", *run.bound) : "null");
  out.line(" \"nodes\": [");
  for (std::size_t i = 0; i < run.nodes.size(); ++i)
    write_node(out, run.nodes[i], run.max_workers[i], i + 1 == run.nodes.size());
  out.line(" ],\n \"tasks\": [");
  for (std::size_t i = 0; i < run.tasks.size(); ++i) write_task(out, run, i);
  out.line(" ]}}");
  out.flush();
}

void write_run_record(const std::string& path, const RunRecord& run) {
  write_file(path, [&](std::ostream& out) { write_run_record(out, run); });
}

RunRecord read_run_record(std::istream& in, const std::string& name) {
  TextInput text(in, name);
  return read(read_json_text(text), name);
}

RunRecord read_run_record(const std::string& path) {
  RunRecord run;
  read_file(path, [&](std::istream& in) { run = read_run_record(in, path); });
  return run;
}

}  // namespace espalier
