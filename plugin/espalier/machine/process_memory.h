#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "espalier/model/units.h"

namespace espalier {

/// What the system counts for a whole process.
struct ProcessMemory {
  std::optional<Bytes> vm_rss, vm_hwm;
};

/// The text of this process's /proc/self/status; empty where there is no /proc.
[[nodiscard]] std::string process_status();

/// A field of such a text, as "VmRSS", in bytes; nullopt: it is not there.
[[nodiscard]] std::optional<Bytes> status_field(std::string_view status,
                                                std::string_view name);

/// Reads the text of a /proc/PID/status.
[[nodiscard]] ProcessMemory parse_process_memory(std::string_view status);

/// Of this process, now; nullopts where there is no /proc.
[[nodiscard]] ProcessMemory process_memory();

}  // namespace espalier
