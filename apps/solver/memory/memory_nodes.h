#pragma once

#include <cstdint>
#include <functional>
#include <istream>

namespace espalier::solver {

/// The parts of main memory, each near some of the cores (NUMA nodes).
struct MemoryNodes {
  std::int32_t count = 1;
  /// Of the calling thread, from 0: where pages lie that it is the first to touch. Called
  /// only where there are several.
  std::function<std::int32_t()> near{};
};

/// Of this machine: one where the system does not say that there are several.
[[nodiscard]] const MemoryNodes& system_memory_nodes();

/// How many nodes there are by a list of their numbers as Linux writes it, "0-1,3": the
/// last one and those before it.
/// @return 1 for what is no such list
[[nodiscard]] std::int32_t memory_nodes_of(std::istream& list);

}  // namespace espalier::solver
