#include "solver/memory/memory_nodes.h"

#include <sched.h>

#include <algorithm>
#include <fstream>

namespace espalier::solver {
namespace {

// No call into the system where it can be helped: the core tells it.
std::int32_t node_of_this_thread() {
  unsigned core = 0, node = 0;
  return getcpu(&core, &node) == 0 ? static_cast<std::int32_t>(node) : 0;
}

}  // namespace

std::int32_t memory_nodes_of(std::istream& list) {
  constexpr std::int32_t kMost = 4096;
  std::int32_t last = 0;
  for (std::int32_t number = 0; list >> number; list.get()) {
    if (number < 0 || number >= kMost) return 1;
    last = std::max(last, number);
  }
  return last + 1;
}

const MemoryNodes& system_memory_nodes() {
  static const MemoryNodes nodes = [] {
    std::ifstream list("/sys/devices/system/node/has_memory");
    return MemoryNodes{memory_nodes_of(list), node_of_this_thread};
  }();
  return nodes;
}

}  // namespace espalier::solver
