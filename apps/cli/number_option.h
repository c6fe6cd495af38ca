#pragma once

// Options whose values are numbers, by one rule: a value that is none, or not in the
// range, is a CLI::ValidationError that names option, value and range. It is asked before
// CLI11 reads the number, which takes 010 for eight and 2^63 for 2^63 - 1.

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "cli/cli_types.h"

namespace espalier::cli {

/// The option takes whole numbers from `least` to `most`, in decimal. @return the option
CLI::Option* whole(CLI::Option* option, std::int64_t least,
                   std::int64_t most = std::numeric_limits<std::int64_t>::max());

/// The option takes finite numbers that are `allowed`, fractions too. @return the option
/// @param range  says which those are, as "from 0 to 10"
CLI::Option* in_range(CLI::Option* option, const std::function<bool(double)>& allowed,
                      const std::string& range);
/// The same of numbers above 0; of 0 and more.
CLI::Option* above_zero(CLI::Option* option);
CLI::Option* from_zero(CLI::Option* option);

/// An option for a whole number, N; without it `value` has none. @return the option
CLI::Option* add_count(CLI::App& app, const std::string& option,
                       std::optional<std::int64_t>& value, std::int64_t least,
                       const std::string& help,
                       std::int64_t most = std::numeric_limits<std::int64_t>::max());

/// A text as a whole number from `least` to `most`, of a list for one.
/// @throws InvalidInput naming text and range
[[nodiscard]] std::int64_t parse_whole(
    std::string_view text, std::int64_t least,
    std::int64_t most = std::numeric_limits<std::int64_t>::max());
/// The same of 64 bits without a sign.
[[nodiscard]] std::uint64_t parse_seed(std::string_view text);

}  // namespace espalier::cli
