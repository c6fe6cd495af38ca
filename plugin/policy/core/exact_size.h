#pragma once

#include <fmt/format.h>

#include <string>

#include "espalier/model/units.h"

namespace espalier::policy {

/// A size, not negative, that may be copied into a bound, or is set against one: followed
/// by its bytes where format_size() rounds it.
/// @par Test  ExactSize.*
[[nodiscard]] inline std::string exact_size(Bytes bytes) {
  Bytes unit = 1;
  while (bytes / unit >= 1024 && unit < Bytes{1} << 50) unit *= 1024;
  const bool exact = bytes % unit * 10 % unit == 0;
  const std::string text = format_size(bytes);
  return exact ? text : fmt::format("{} ({} bytes)", text, bytes);
}

}  // namespace espalier::policy
