#pragma once

#include <vector>

#include "espalier/model/units.h"

namespace espalier {

/// A limit that counts what a process has mapped, resident or not.
struct MappedLimit {
  Bytes limit;
  const char* field;   ///< of /proc/self/status: what counts, in KiB
  const char* counts;  ///< "address space"
  const char* name;    ///< "ulimit -v"
};

/// RLIMIT_AS (ulimit -v) and RLIMIT_DATA (ulimit -d) of this process, which batch systems
/// set; those that are not set are left out.
[[nodiscard]] std::vector<MappedLimit> mapped_limits();

}  // namespace espalier
