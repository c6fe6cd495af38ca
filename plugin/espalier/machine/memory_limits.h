#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "espalier/model/units.h"

namespace espalier {

/// Where limits are read: those of this process, or a tree of files that a test has made.
struct LimitSources {
  std::filesystem::path root = "/";                  ///< of proc/ and sys/
  std::function<const char*(const char*)> variable;  ///< empty: getenv()
  bool resource_limits = true;                       ///< getrlimit(), of this process
};

/// A limit on memory, and what can still be taken below it.
struct MemoryLeft {
  Bytes limit = 0, left = 0;
  std::string source;  ///< "ulimit -v (8.0 GiB)"
};

/// The control groups around this process that have a limit: version 2 ("0::/path"), by
/// memory.max and by memory.high, and the memory controller of version 1, each enclosing
/// group by itself. What the system holds of files and can drop counts as left.
[[nodiscard]] std::vector<MemoryLeft> control_group_memory(
    const LimitSources& sources = {});

/// Every limit that is known to count for this process: control groups; ulimit -v and -d,
/// which count what is mapped; SLURM_MEM_PER_NODE or SLURM_MEM_PER_CPU times
/// SLURM_CPUS_ON_NODE, shared evenly by the tasks of the step on this node; MemAvailable
/// of the machine. In no order.
/// @par Test  MemoryLimits.*
[[nodiscard]] std::vector<MemoryLeft> memory_left(const LimitSources& sources = {});

/// The bound that `--memory auto` stands for.
struct MemoryRoom {
  Bytes bytes = 0;     ///< may be resident: what is, and the least that is left
  std::string source;  ///< whose rest it is; "nothing": no limit is known
};
[[nodiscard]] MemoryRoom memory_room(const LimitSources& sources = {});

}  // namespace espalier
