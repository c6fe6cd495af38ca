#include "policy/core/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>

#include "espalier/io/output_file.h"
#include "espalier/model/error.h"
#include "espalier/model/exact_size.h"

namespace espalier::policy {
namespace {

std::string format_seconds(Seconds seconds) {
  return fmt::format("{:.{}f} s", seconds, seconds < 100 ? 3 : 1);
}

std::string format_tasks(std::int64_t count) {
  return fmt::format("{} task{}", count, count == 1 ? "" : "s");
}

// The largest excess over the bound, by any measure that there is.
Bytes excess(const RunReport& report) {
  const Bytes measured = report.allocated_peak.value_or(0) - report.bound.value_or(0);
  return std::max({Bytes{0}, report.over_bound_bytes, measured});
}

// All that the bound is about.
Bytes counted(const RunReport& report) {
  return std::max(report.booked_peak, report.allocated_peak.value_or(0));
}

std::string headline(const RunReport& report) {
  if (!report.bound) return "espalier: no memory bound was set (ESPALIER_MEMORY)\n";
  const std::string bound = "the memory bound of " + format_size(*report.bound);
  if (counted(report) == 0 && report.stopped)
    return fmt::format(
        "espalier: {} was kept by stopping the program before StarPU allocated any "
        "data\n",
        bound);
  if (counted(report) == 0 && report.jobs == 0)
    return fmt::format(
        "espalier: {} bounds NOTHING here: StarPU allocated no data for tasks{}\n", bound,
        report.application_bytes > 0
            ? fmt::format("; {} are in the application's own memory",
                          format_size(report.application_bytes))
            : "");
  if (const Bytes over = excess(report); over > 0) {
    return fmt::format("espalier: {} was NOT kept: exceeded by {}\n", bound,
                       format_size(over));
  }
  std::string text = fmt::format("espalier: {} was kept", bound);
  if (report.stopped) text += " by stopping the program";
  if (!report.allocated_peak) text += " by what was booked; no measurement";
  if (report.application_bytes > counted(report))
    text += fmt::format(
        " for the smaller part of the data: {} more are in the application's own memory",
        format_size(report.application_bytes));
  if (!report.outside.empty()) text += "; not all was accounted for, see below";
  return text + '\n';
}

// Aligned lines under the first.
class Table {
 public:
  explicit Table(std::string first) : text_(std::move(first)) {}
  void row(std::string_view label, std::string_view value) {
    fmt::format_to(std::back_inserter(text_), "  {:<20}  {}\n", label, value);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void add_memory(Table& table, const RunReport& report) {
  if (report.bound) table.row("booked, at most", format_size(report.booked_peak));
  table.row("allocated, at most",
            report.allocated_peak ? format_size(*report.allocated_peak) : "not measured");
  if (report.overruns > 0) {
    table.row(
        "more than was booked",
        fmt::format("{} time{}, by {} at most", report.overruns,
                    report.overruns == 1 ? "" : "s", format_size(report.overrun_bytes)));
  }
  if (report.least_bytes && report.stopped)
    table.row("needed so far", exact_size(*report.least_bytes) + ", and perhaps more");
  else if (report.least_bytes)
    table.row("would have sufficed", exact_size(*report.least_bytes));
  if (report.application_bytes > 0)
    table.row("not StarPU's", fmt::format("{} in {} data in the application's own memory",
                                          format_size(report.application_bytes),
                                          report.application_data));
  if (report.spill)
    table.row(
        "spilled",
        fmt::format("{} written, {} read; in {}", format_size(report.spill->written),
                    format_size(report.spill->read), report.spill->directory));
  if (report.vm_hwm) {
    std::string text = format_size(*report.vm_hwm) + " at most (VmHWM)";
    if (report.vm_rss_at_start) {
      text += fmt::format(", {} at the start", format_size(*report.vm_rss_at_start));
    }
    table.row("resident in all", text);
  }
}

void add_tasks(Table& table, const RunReport& report) {
  table.row("tasks", fmt::format("{} run, {} submitted that need memory", report.tasks,
                                 report.gated_tasks));
  table.row("waited at the gate",
            report.held_tasks == 0
                ? "no task"
                : fmt::format("{}, {} in all, {} each", format_tasks(report.held_tasks),
                              format_seconds(report.held_seconds),
                              format_seconds(report.held_seconds /
                                             static_cast<double>(report.held_tasks))));
  if (report.unsafe_admissions > 0) {
    table.row("let in unproved", format_tasks(report.unsafe_admissions) +
                                     ", not known to leave room for the rest");
  }
  if (report.throttled_seconds > 0) {
    table.row("submission waited", format_seconds(report.throttled_seconds));
  }
  if (report.received_messages > 0) {
    table.row("received", fmt::format("{} message{}, {}", report.received_messages,
                                      report.received_messages == 1 ? "" : "s",
                                      format_size(report.received_bytes)));
  }
  if (report.jobs > 0) table.row("declared trees", std::to_string(report.jobs));
}

void add_workers(Table& table, const RunReport& report) {
  const Seconds total = report.busy_seconds + report.idle_seconds;
  table.row("workers", fmt::format("{}, busy {} ({:.0f} %), idle {}", report.workers,
                                   format_seconds(report.busy_seconds),
                                   total > 0 ? 100 * report.busy_seconds / total : 0.0,
                                   format_seconds(report.idle_seconds)));
  table.row("elapsed", format_seconds(report.elapsed_seconds));
}

void add_outside(Table& table, std::vector<RunReport::Outside> outside) {
  constexpr std::size_t kShown = 6;
  if (outside.empty()) return;
  std::stable_sort(outside.begin(), outside.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  std::string label = "not accounted for";
  for (std::size_t i = 0; i < std::min(kShown, outside.size()); ++i) {
    const RunReport::Outside& item = outside[i];
    std::string text = fmt::format("{} {}", item.count, item.what);
    if (item.bytes != 0) text += ", " + format_size(item.bytes);
    table.row(label, text);
    label.clear();
  }
  if (outside.size() > kShown) {
    table.row("", fmt::format("and {} kinds more", outside.size() - kShown));
  }
}

nlohmann::ordered_json spill_of(const RunReport& report) {
  if (!report.spill) return {};
  const RunReport::Spill& spill = *report.spill;
  return {{"directory", spill.directory},
          {"written_bytes", spill.written},
          {"read_bytes", spill.read},
          {"writes", spill.writes},
          {"reads", spill.reads}};
}

template <class T>
nlohmann::ordered_json json_of(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

bool put(std::FILE* file, const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), file) == text.size() &&
         std::fflush(file) == 0;
}

}  // namespace

std::optional<bool> bound_kept(const RunReport& report) {
  if (!report.bound) return std::nullopt;
  return excess(report) == 0;
}

std::string to_text(const RunReport& report) {
  Table table(headline(report));
  table.row("program", report.mpi_rank
                           ? fmt::format("{}, rank {}", report.program, *report.mpi_rank)
                           : report.program);
  table.row("versions", fmt::format("espalier {}, StarPU {}", report.policy_version,
                                    report.starpu_version));
  add_memory(table, report);
  add_tasks(table, report);
  add_workers(table, report);
  add_outside(table, report.outside);
  return table.text();
}

std::string to_json(const RunReport& report) {
  using Json = nlohmann::ordered_json;
  Json outside = Json::array();
  for (const RunReport::Outside& item : report.outside) {
    outside.push_back(
        {{"what", item.what}, {"count", item.count}, {"bytes", item.bytes}});
  }
  const Json json = {{"program", report.program},
                     {"mpi_rank", json_of(report.mpi_rank)},
                     {"espalier_version", report.policy_version},
                     {"starpu_version", report.starpu_version},
                     {"bound_bytes", json_of(report.bound)},
                     {"bound_kept", json_of(bound_kept(report))},
                     {"stopped", report.stopped},
                     {"booked_peak_bytes", report.booked_peak},
                     {"over_bound_bytes", report.over_bound_bytes},
                     {"allocated_peak_bytes", json_of(report.allocated_peak)},
                     {"overruns", report.overruns},
                     {"overrun_bytes", report.overrun_bytes},
                     {"least_bytes", json_of(report.least_bytes)},
                     {"application_data", report.application_data},
                     {"application_bytes", report.application_bytes},
                     {"spill", spill_of(report)},
                     {"baseline_rss_bytes", json_of(report.vm_rss_at_start)},
                     {"peak_rss_bytes", json_of(report.vm_hwm)},
                     {"tasks", report.tasks},
                     {"gated_tasks", report.gated_tasks},
                     {"held_tasks", report.held_tasks},
                     {"held_seconds", report.held_seconds},
                     {"unsafe_admissions", report.unsafe_admissions},
                     {"throttled_seconds", report.throttled_seconds},
                     {"late_frees", report.late_frees},
                     {"longest_gap_seconds", report.longest_gap_seconds},
                     {"received_messages", report.received_messages},
                     {"received_bytes", report.received_bytes},
                     {"jobs", report.jobs},
                     {"workers", report.workers},
                     {"busy_seconds", report.busy_seconds},
                     {"idle_seconds", report.idle_seconds},
                     {"elapsed_seconds", report.elapsed_seconds},
                     {"outside", std::move(outside)}};
  // The name of a program need not be UTF-8, but JSON has to be.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

void write_report(const RunReport& report, const std::string& destination) noexcept try {
  if (destination.empty()) return;
  if (destination == "-") {
    put(stderr, to_text(report));
    return;
  }
  try {
    OutputFile file(destination);
    file.write(destination.ends_with(".json") ? to_json(report) : to_text(report));
    file.commit();
  } catch (const FileError& error) {
    put(stderr,
        fmt::format("espalier: the report: {}\n{}", error.what(), to_text(report)));
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "espalier: the report cannot be made: %s\n", error.what());
}

}  // namespace espalier::policy
