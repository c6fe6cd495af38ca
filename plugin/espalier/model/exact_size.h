#pragma once

#include <fmt/format.h>

#include <string>

#include "espalier/model/units.h"

namespace espalier {

/// A size for people and for programs: "60.0 MiB (62914560 bytes)".
[[nodiscard]] inline std::string size_with_bytes(Bytes bytes) {
  return fmt::format("{} ({} bytes)", format_size(bytes), bytes);
}

/// A size, not negative, that may be copied into a bound, or is set against one: with its
/// bytes where format_size() rounds it.
/// @par Test  ExactSize.*
[[nodiscard]] inline std::string exact_size(Bytes bytes) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 60;
  const auto count = static_cast<std::uint64_t>(bytes);
  std::uint64_t unit = 1;
  while (count / unit >= 1024 && unit < kLargest) unit *= 1024;
  const bool exact = count % unit * 10 % unit == 0;  // tenths of the unit are shown
  return exact ? format_size(bytes) : size_with_bytes(bytes);
}

}  // namespace espalier
