#include "espalier/io/checkpoint_io.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <istream>
#include <optional>
#include <utility>

#include "espalier/io/text_file.h"
#include "espalier/io/text_input.h"
#include "espalier/model/error.h"

namespace espalier {
namespace {

constexpr std::size_t kLongestActionLine = 4096;

std::optional<double> nanoseconds_in(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, double>, 5> kUnits = {
      {{"", 1e9}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  for (const auto& [name, factor] : kUnits) {
    if (name == unit) return factor;
  }
  return std::nullopt;
}

// The line up to a comment, cut at blanks; nothing at the end of the text.
std::optional<std::vector<std::string>> next_fields(TextInput& text) {
  if (text.peek() == TextInput::kEnd) return std::nullopt;
  std::vector<std::string> fields;
  std::size_t length = 0;
  bool in_field = false, in_comment = false;
  while (text.peek() != TextInput::kEnd) {
    const char c = static_cast<char>(text.take());
    if (c == '\n') break;
    if (++length > kLongestActionLine)
      text.fail(fmt::format("the line is longer than {} bytes", kLongestActionLine));
    in_comment = in_comment || c == '#';
    if (in_comment) continue;
    const bool blank = c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
    if (!blank && !in_field) fields.emplace_back();
    if (!blank) fields.back() += c;
    in_field = !blank;
  }
  return fields;
}

// What a message may hold of a file: no control characters, not without end.
std::string shown(std::string_view message) {
  std::string text(message.substr(0, 300));
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; },
      '?');
  return text;
}

Stage stage_of(const std::vector<std::string>& fields) {
  const auto bytes = [&](std::size_t k) {
    return k < fields.size() ? parse_size(fields[k]) : 0;
  };
  return {bytes(0), bytes(1), parse_duration(fields[2]), parse_duration(fields[3]),
          bytes(4), bytes(5)};
}

// Each stage, once what follows it is known. @param lines  of the stages
void check_stages(const std::string& name, const std::vector<Stage>& stages,
                  const std::vector<std::int64_t>& lines, Bytes output) {
  for (std::size_t i = 0; i < stages.size(); ++i) {
    try {
      check_stage(stages[i], static_cast<std::int64_t>(i),
                  i + 1 < stages.size() ? stages[i + 1].input : output);
    } catch (const InvalidInput& error) {
      throw FileError(name, lines[i], error.what());
    }
  }
}

}  // namespace

Nanoseconds parse_duration(std::string_view text) {
  const auto fail = [text] {
    throw InvalidInput(fmt::format(
        "'{}' is not a time: expected a number and ns, us, ms or s, as in 5ms", text));
  };
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || !std::isfinite(value) || std::signbit(value)) fail();
  std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  while (unit.size() > 1 && unit.front() == ' ') unit.remove_prefix(1);
  const std::optional<double> factor = nanoseconds_in(unit);
  if (!factor) fail();
  const double nanoseconds = std::round(value * *factor);
  if (nanoseconds > 0x1p62)
    throw OverflowError(fmt::format("the time '{}' leaves the 64-bit range", text));
  return static_cast<Nanoseconds>(nanoseconds);
}

Chain read_chain(std::istream& in, const std::string& name) {
  TextInput text(in, name);
  std::vector<Stage> stages;
  std::vector<std::int64_t> lines;
  std::optional<Bytes> output;
  while (const auto fields = next_fields(text)) {
    if (fields->empty()) continue;
    if (output) text.fail("nothing may follow the output");
    try {
      if (fields->front() == "output" && fields->size() == 2) {
        output = parse_size((*fields)[1]);
        continue;
      }
      if (fields->size() < 4 || fields->size() > 6)
        text.fail(fmt::format("{} fields, expected 4 to 6: x xbar f b ftmp btmp",
                              fields->size()));
      stages.push_back(stage_of(*fields));
      lines.push_back(text.line());
    } catch (const FileError&) {
      throw;
    } catch (const Error& error) {
      text.fail(shown(error.what()));
    }
  }
  if (stages.empty()) throw FileError(name, 0, "holds no stage");
  check_stages(name, stages, lines, output.value_or(0));
  try {
    return Chain(std::move(stages), output.value_or(0));
  } catch (const Error& error) {
    throw FileError(name, 0, error.what());
  }
}

Chain read_chain(const std::string& path) {
  std::optional<Chain> chain;
  read_file(path, [&](std::istream& in) { chain = read_chain(in, path); });
  return std::move(*chain);
}

std::vector<Nanoseconds> read_step_times(std::istream& in, const std::string& name) {
  TextInput text(in, name);
  std::vector<Nanoseconds> times;
  while (const auto fields = next_fields(text)) {
    if (fields->empty()) continue;
    if (fields->size() > 1)
      text.fail(fmt::format("{} fields, expected the time of one step", fields->size()));
    try {
      times.push_back(parse_duration(fields->front()));
    } catch (const Error& error) {
      text.fail(shown(error.what()));
    }
  }
  if (times.empty()) throw FileError(name, 0, "holds no step");
  return times;
}

std::vector<Nanoseconds> read_step_times(const std::string& path) {
  std::vector<Nanoseconds> times;
  read_file(path, [&](std::istream& in) { times = read_step_times(in, path); });
  return times;
}

void write_schedule(std::ostream& out, const CheckpointSchedule& schedule) {
  TextOutput text(out);
  text.line("# steps {}", schedule.steps);
  for (const CheckpointLevel& level : schedule.levels)
    text.line("# level {} {}", level.name, level.slots);
  text.line("# action first last level slot");
  const auto stream = schedule.actions();
  while (const auto action = stream->next()) {
    const bool restores =
        action->kind == ActionKind::kCopy || action->kind == ActionKind::kMove;
    const Place& place = restores ? action->source : action->target;
    text.line("{} {} {} {} {}{}", name(action->kind), action->first, action->last,
              place.level, place.slot, action->keeps_tape ? " tape" : "");
  }
  text.flush();
}

}  // namespace espalier
