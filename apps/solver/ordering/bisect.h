#pragma once

#include <cstdint>

#include "solver/ordering/coarsen.h"
#include "solver/ordering/vertex_separator.h"
#include "solver/threads/task_pool.h"

namespace espalier::solver {

/// How much is done for one separator.
struct Effort {
  bool flow = false;     ///< refine_by_flow() on each level, too
  bool layered = false;  ///< layered_separator() is tried, too, from two ends
  /// Layers begin at vertices of the first level that has at most so many, and what is
  /// finer than that is done beside them.
  std::int32_t shared = 2000;
};

/// Where the best separator was found, if the others are far from it.
enum class Finder : std::int8_t { kAny, kLevels, kLayers };

struct Bisection {
  Partition partition;
  Finder finder = Finder::kAny;
};

/// Whether a separator of level 0 is larger than those of meshes in the plane.
[[nodiscard]] inline bool is_spatial(const Partition& partition) {
  const auto& [one, other, separator] = partition.weight;
  return separator * separator > 4 * (one + other + separator);
}

/// A separator of level 0: the best of several that grow on the coarsest graph, made
/// lighter on each level down to the finest [HL95, KK98], and of two that are layers of
/// level 0.
///
/// @par Cost  O(vertices) and what refine_separator() takes on each level, and on level
///            0 for each of the layers; these are shared by the pool
[[nodiscard]] Bisection bisect(const Levels& levels, std::uint64_t seed, TaskPool& pool,
                               const Effort& effort = {});

}  // namespace espalier::solver
