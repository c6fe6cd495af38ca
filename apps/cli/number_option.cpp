#include "cli/number_option.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>

#include "espalier/model/error.h"

namespace espalier::cli {
namespace {

template <class T>
T parse_whole_of(std::string_view text, T least, T most) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end && value >= least && value <= most)
    return value;
  throw InvalidInput(
      fmt::format("'{}' is not a whole number from {} to {}", text, least, most));
}

}  // namespace

std::int64_t parse_whole(std::string_view text, std::int64_t least, std::int64_t most) {
  return parse_whole_of(text, least, most);
}

std::uint64_t parse_seed(std::string_view text) {
  return parse_whole_of<std::uint64_t>(text, 0,
                                       std::numeric_limits<std::uint64_t>::max());
}

CLI::Option* whole(CLI::Option* option, std::int64_t least, std::int64_t most) {
  // What CLI11 reads after it is the number as we write it.
  const auto read = [least, most](std::string& text) -> std::string {
    try {
      text = std::to_string(parse_whole(text, least, most));
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return {};
  };
  // Of --help, "N:1 … 4096": what is just the limit of a type is no range to be told.
  const bool told = most < std::numeric_limits<std::int32_t>::max();
  return option->transform(
      CLI::Validator(read, told ? fmt::format("{} … {}", least, most) : ""));
}

CLI::Option* in_range(CLI::Option* option, const std::function<bool(double)>& allowed,
                      const std::string& range) {
  return option->check([allowed, range](const std::string& text) -> std::string {
    double value = 0;
    if (CLI::detail::lexical_cast(text, value) && std::isfinite(value) && allowed(value))
      return {};
    return fmt::format("'{}' is not a number {}", text, range);
  });
}

CLI::Option* above_zero(CLI::Option* option) {
  return in_range(
      option, [](double value) { return value > 0; }, "above 0");
}

CLI::Option* from_zero(CLI::Option* option) {
  return in_range(
      option, [](double value) { return value >= 0; }, "of 0 or more");
}

CLI::Option* add_count(CLI::App& app, const std::string& option,
                       std::optional<std::int64_t>& value, std::int64_t least,
                       const std::string& help, std::int64_t most) {
  return whole(app.add_option(option, value, help)->type_name("N"), least, most);
}

}  // namespace espalier::cli
