#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "espalier/model/units.h"

namespace espalier {

/// What the system counts for a whole process.
struct ProcessMemory {
  std::optional<Bytes> vm_rss, vm_hwm;
};

/// What is resident now, page by page, as the mappings of this process have it; nullopt
/// where /proc/self/smaps_rollup cannot be read. The system keeps the counts above by
/// processor and adds them up late: from Linux 6.2 on each may be off by 32 pages for
/// each processor and more, VmRSS to 6.15 alone. Takes some 12 ms for each GiB of small
/// pages.
[[nodiscard]] std::optional<Bytes> counted_rss();

/// By how much VmRSS may be too small: for each of the system's processors 32 pages, or
/// twice the number of processors where that is more.
[[nodiscard]] Bytes rss_error(std::int64_t processors, Bytes page_size);

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
