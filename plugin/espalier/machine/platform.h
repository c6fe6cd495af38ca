#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "espalier/model/units.h"

namespace espalier {

/// Memory that some cores reach fastest.
struct NumaNode {
  std::vector<std::int32_t> cores;  ///< 0 … Platform::cores - 1
  Bytes memory_size = 0;
};

/// One cache and the cores that share it.
struct Cache {
  std::int32_t level = 1;
  Bytes size = 0;
  std::vector<std::int32_t> cores;
};

/// The machine as this process may use it: what a cpuset or a control group takes away is
/// not counted.
struct Platform {
  std::int32_t cores = 1;             ///< physical cores
  std::int32_t hardware_threads = 1;  ///< at least `cores`
  std::vector<NumaNode> numa_nodes;   ///< at least one
  std::vector<Cache> caches;          ///< data and unified, by level; empty: unknown
  Bytes memory_size = 0;              ///< of the machine, or the group's limit
  Bytes available_memory = 0;         ///< what can be allocated now without swapping
  std::string source;                 ///< "hwloc 2.9" or "the operating system"
};

/// Asks hwloc, or the operating system when built without it. Linux. @throws Error when
/// hwloc cannot see the machine
[[nodiscard]] Platform this_machine();

/// Hardware threads that this process may use.
/// @par Cost  less than a microsecond: no file is read
[[nodiscard]] std::int32_t own_cores();

/// The same, of those of its host.
struct CoreShare {
  std::int32_t own = 1, host = 1;
};
[[nodiscard]] CoreShare core_share();

/// Whether processes on one host, with so many busy threads each, have more threads than
/// hardware threads. A part of the host is taken to be this process's alone: cores are
/// shared out or not shared out among all.
[[nodiscard]] bool is_crowded(CoreShare cores, std::int32_t processes,
                              std::int32_t threads);

/// A few lines for people.
[[nodiscard]] std::string describe(const Platform& platform);

}  // namespace espalier
