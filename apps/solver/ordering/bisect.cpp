#include "solver/ordering/bisect.h"

#include <algorithm>
#include <span>
#include <utility>

#include "solver/ordering/edge_bisection.h"
#include "solver/ordering/layered_separator.h"
#include "solver/ordering/mixed_bits.h"
#include "solver/ordering/refine_by_flow.h"
#include "solver/ordering/vertex_blocks.h"

namespace espalier::solver {
namespace {

constexpr std::int32_t kCandidates = 3;  // on the coarsest level
constexpr std::int32_t kPasses = 2;      // of refinement on each level
constexpr double kFarCostlier = 1.05;

Partition projected(const Partition& coarse, std::span<const std::int32_t> map,
                    TaskPool& pool) {
  Partition fine{std::vector<std::int8_t>(map.size()), coarse.weight};
  const auto blocks = VertexBlocks::fine(static_cast<std::int32_t>(map.size()));
  pool.for_each_block(blocks.count(), [&](std::int64_t k) {
    for (std::int32_t v = blocks.first(k); v < blocks.first(k + 1); ++v)
      fine.side[v] = coarse.side[map[v]];
  });
  return fine;
}

// Of each three, two grow by vertices and one is made from an edge cut.
std::vector<Partition> candidates(const Levels& levels, std::uint64_t seed) {
  const Graph& graph = *levels.graphs.back();
  std::vector<Partition> result;
  for (std::int32_t k = 0; k < kCandidates; ++k) {
    result.push_back(k % 3 == 1 ? partition_from_cut(graph, levels.edges.back(), seed + k)
                                : grown_partition(graph, seed + k));
    refine_separator(graph, result.back(), kPasses);
  }
  return result;
}

Partition best_of(std::vector<Partition>&& partitions) {
  return std::move(*std::ranges::min_element(partitions, is_better));
}

// From one level to a finer one.
void refine_down(const Levels& levels, std::size_t from, std::size_t to,
                 const Effort& effort, Partition& partition, TaskPool& pool) {
  for (std::size_t k = from; k-- > to;) {
    pool.ask();
    const Graph& graph = *levels.graphs[k];
    partition = projected(partition, levels.maps[k], pool);
    refine_separator(graph, partition, kPasses);
    if (effort.flow) refine_by_flow(graph, partition);
  }
}

// From the coarsest level to level `to`.
Partition grown_down(const Levels& levels, std::size_t to, std::uint64_t seed,
                     const Effort& effort, TaskPool& pool) {
  Partition best = best_of(candidates(levels, seed));
  refine_down(levels, levels.maps.size(), to, effort, best, pool);
  return best;
}

// A vertex of level 0 that belongs to one of level `level`.
std::int32_t finest_of(const Levels& levels, std::size_t level, std::int32_t vertex) {
  for (std::size_t k = level; k-- > 0;)
    vertex = static_cast<std::int32_t>(std::ranges::find(levels.maps[k], vertex) -
                                       levels.maps[k].begin());
  return vertex;
}

// The one or, for odd numbers, the other of two vertices of level 0 that are nearly at
// opposite ends: found on level `level`.
std::int32_t near_end(const Levels& levels, std::size_t level, std::uint64_t seed,
                      std::int64_t number) {
  const Graph& coarse = *levels.graphs[level];
  const std::int32_t one =
      far_from(coarse, static_cast<std::int32_t>(mixed_bits(seed) % coarse.size()));
  return finest_of(levels, level, number % 2 == 0 ? one : far_from(coarse, one));
}

Bisection better_of(Partition&& by_levels, Partition&& layered) {
  const bool layers_win = is_better(layered, by_levels);
  Partition& winner = layers_win ? layered : by_levels;
  const Partition& other = layers_win ? by_levels : layered;
  const bool far = cost_of(other) > kFarCostlier * cost_of(winner);
  return {std::move(winner), !far         ? Finder::kAny
                             : layers_win ? Finder::kLayers
                                          : Finder::kLevels};
}

// The rest of the way to level 0, and beside it layers.
Bisection beside_layers(const Levels& levels, std::size_t level, std::uint64_t seed,
                        const Effort& effort, Partition&& by_levels, TaskPool& pool) {
  const Graph& finest = *levels.graphs.front();
  std::vector<Partition> layered(2);
  pool.for_each_block(3, [&](std::int64_t k) {
    if (k < 2) {
      layered[k] = layered_separator(finest, near_end(levels, level, seed, k));
      refine_separator(finest, layered[k], kPasses);
    } else {
      TaskPool alone(1);
      refine_down(levels, level, 0, effort, by_levels, alone);
    }
  });
  return better_of(std::move(by_levels), best_of(std::move(layered)));
}

}  // namespace

Bisection bisect(const Levels& levels, std::uint64_t seed, TaskPool& pool,
                 const Effort& effort) {
  std::size_t level = levels.maps.size();
  while (level > 0 && levels.graphs[level - 1]->size() <= effort.shared) --level;
  Partition best = grown_down(levels, level, seed, effort, pool);
  if (effort.layered)
    return beside_layers(levels, level, seed, effort, std::move(best), pool);
  refine_down(levels, level, 0, effort, best, pool);
  return {std::move(best)};
}

}  // namespace espalier::solver
