#pragma once

#include <optional>
#include <string_view>

#include "espalier/model/units.h"

namespace espalier {

/// What the system counts for a whole process.
struct ProcessMemory {
  std::optional<Bytes> vm_rss, vm_hwm;
};

/// Reads the text of a /proc/PID/status.
[[nodiscard]] ProcessMemory parse_process_memory(std::string_view status);

/// Of this process, now; nullopts where there is no /proc.
[[nodiscard]] ProcessMemory process_memory();

}  // namespace espalier
