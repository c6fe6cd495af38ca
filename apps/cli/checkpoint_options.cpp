#include "cli/checkpoint_options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

#include "cli/number_option.h"
#include "cli/options.h"
#include "cli/report_option.h"
#include "espalier/io/checkpoint_io.h"
#include "espalier/model/error.h"

namespace espalier::cli {
namespace {

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::int64_t parse_count(std::string_view text, std::string_view of) {
  std::int64_t count = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc() || stop != end || count < 0)
    throw InvalidInput(fmt::format("{}: '{}' is not a number of slots", of, text));
  return count;
}

CheckpointLevel parse_level(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() < 2 || parts[0].empty()) {
    throw InvalidInput(
        fmt::format("'{}' is not a level: expected NAME:SLOTS[:w=TIME][:r=TIME]", text));
  }
  std::optional<Nanoseconds> write, read;
  for (std::size_t k = 2; k < parts.size(); ++k) {
    const bool writes = parts[k].starts_with("w=");
    if (!writes && !parts[k].starts_with("r="))
      throw InvalidInput(
          fmt::format("level '{}': '{}' is neither w=TIME nor r=TIME", text, parts[k]));
    std::optional<Nanoseconds>& time = writes ? write : read;
    if (time)
      throw InvalidInput(
          fmt::format("level '{}': {} is given twice", text, parts[k].substr(0, 2)));
    time = parse_duration(parts[k].substr(2));
  }
  return {std::string(parts[0]), parse_count(parts[1], text), write.value_or(0),
          read.value_or(0)};
}

void add_time(CLI::App& app, const std::string& option, std::optional<Nanoseconds>& value,
              const std::string& help) {
  const auto read = [&value](const std::string& text) { value = parse_duration(text); };
  add_read(app, option, read, help)->type_name("TIME");
}

// A chain of some steps, to begin with.
Remedy some_length(const CheckpointRequest& request) {
  Remedy remedy = set_option("--length", "100");
  if (!request.slots && request.levels.empty())
    remedy.edits.push_back({Edit::Kind::kSet, "--slots", "10"});
  return remedy;
}

}  // namespace

std::vector<CheckpointLevel> parse_levels(std::string_view text) {
  std::vector<CheckpointLevel> levels;
  for (const std::string_view part : split(text, ',')) {
    levels.push_back(parse_level(part));
    const auto same = [&](const CheckpointLevel& level) {
      return level.name == levels.back().name;
    };
    if (std::count_if(levels.begin(), levels.end(), same) > 1)
      throw InvalidInput(fmt::format("there are two levels '{}'", levels.back().name));
  }
  return levels;
}

void add_checkpoint_options(CLI::App& app, CheckpointRequest& request) {
  app.add_option("CHAIN", request.chain,
                 "Stages with sizes and costs of their own, one a line:\n"
                 "x xbar f b ftmp btmp (docs/manual/checkpointing.md)")
      ->type_name("FILE");
  add_count(app, "--length", request.length, 1,
            "Steps to reverse, of states that are all alike", std::int64_t{1} << 62);
  add_count(app, "--slots", request.slots, 0, "States that memory holds, x_0 among them");
  const auto read_levels = [&request](const std::string& text) {
    try {
      request.levels = parse_levels(text);
    } catch (const Error& error) {
      throw CLI::ValidationError("--levels", error.what());
    }
  };
  app.add_option_function<std::string>(
         "--levels", read_levels,
         "Where states can be stored, from fast to slow, with what a\n"
         "store and a restore take: ram:20,disk:200:w=5ms:r=4ms")
      ->type_name("NAME:SLOTS[:w=TIME][:r=TIME],…");
  add_time(app, "--step", request.step,
           "What a step forward takes (default: a unit of cost; where levels or\n"
           "--backward have times, a second)");
  app.add_option("--step-times", request.step_times,
                 "What each step forward takes, one time a line: steps of unequal\n"
                 "cost, in place of --length and --step")
      ->type_name("FILE");
  add_time(app, "--backward", request.backward,
           "What a step backward takes, its own forward step with it");
  app.add_flag("--online", request.online,
               "Decide as if the length were not known before the end");
  app.add_flag("--read-once", request.read_once,
               "Store on the last level in the first sweep alone and read each\n"
               "of these states once (1D-Revolve)");
  app.add_option("--memory", request.memory,
                 "Bound for a chain: a size, min for the least that suffices, or\n"
                 "curve for the least cost of every bound")
      ->type_name("SIZE|min|curve");
  add_output(app, "--schedule", request.schedule,
             "Write the actions here, one a line (docs/manual/checkpointing.md)")
      ->type_name("FILE");
  add_report(app, request.page);
  add_json(app, request.json);
}

Remedy more_slots(const CheckpointRequest& request, std::int64_t count,
                  std::size_t more_of) {
  if (request.slots) return set_option("--slots", std::to_string(*request.slots + count));
  std::string text;
  for (std::size_t k = 0; k < request.levels.size(); ++k) {
    const CheckpointLevel& level = request.levels[k];
    const std::int64_t slots = level.slots + (k == more_of ? count : 0);
    if (slots == 0) continue;  // a level without any is refused
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", level.name, slots);
    if (level.write > 0) text += fmt::format(":w={}ns", level.write);
    if (level.read > 0) text += fmt::format(":r={}ns", level.read);
  }
  return set_option("--levels", text);
}

void check(const CLI::App& app, const CheckpointRequest& request) {
  using Names = std::initializer_list<std::string_view>;
  if (!request.chain.empty())
    return refuse_given(app,
                        Names{"--length", "--slots", "--levels", "--step", "--step-times",
                              "--backward", "--online", "--read-once"},
                        "a CHAIN has its own steps and costs");
  refuse_given(app, Names{"--memory"}, "only for a CHAIN");
  if (!request.step_times.empty())
    refuse_given(app, Names{"--length", "--step"}, "--step-times takes the place of it");
  if (!request.length && request.step_times.empty())
    throw Refused("a CHAIN or --length is needed", some_length(request));
  if (request.slots.has_value() != request.levels.empty()) {
    throw Refused(fmt::format("{} needs either --slots or --levels",
                              request.length ? "--length" : "--step-times"),
                  request.slots ? drop_option("--levels") : set_option("--slots", "10"));
  }
  if (request.online && request.read_once)
    throw Refused("--online and --read-once do not go together",
                  drop_option("--read-once"));
  if (request.read_once && (request.levels.size() < 2 || !request.step_times.empty()))
    throw Refused("--read-once: needs --levels, two or more, and steps of equal cost",
                  drop_option("--read-once"));
}

}  // namespace espalier::cli
