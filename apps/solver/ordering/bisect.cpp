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

constexpr std::int32_t kDrawnDownTo = 100;  // vertices of the coarsest that is drawn
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
std::vector<Partition> candidates(const Levels& levels, std::uint64_t seed,
                                  std::int32_t count, std::int32_t passes) {
  const Graph& graph = *levels.graphs.back();
  std::vector<Partition> result;
  for (std::int32_t k = 0; k < count; ++k) {
    result.push_back(k % 3 == 1 ? partition_from_cut(graph, levels.edges.back(), seed + k)
                                : grown_partition(graph, seed + k));
    refine_separator(graph, result.back(), passes);
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
    refine_separator(graph, partition, effort.passes);
    if (effort.flow) refine_by_flow(graph, partition);
  }
}

// From the coarsest level to level `to`.
Partition grown_down(const Levels& levels, std::size_t to, std::uint64_t seed,
                     const Effort& effort, TaskPool& pool) {
  Partition best = best_of(candidates(levels, seed, effort.candidates, effort.passes));
  refine_down(levels, levels.maps.size(), to, effort, best, pool);
  return best;
}

// The effort's draw `number`, from 1 on, on level `level`.
Partition drawn(const Levels& levels, std::size_t level, std::uint64_t seed,
                std::int64_t number, const Effort& effort) {
  TaskPool alone(1);
  seed += number;
  const Levels other =
      coarsen(levels.graphs[level], kDrawnDownTo, alone, seed, levels.edges[level]);
  return grown_down(other, 0, 100 * seed, effort, alone);
}

// The best of what the draws have found, followed to level 0.
Partition best_followed(const Levels& levels, std::size_t level, const Effort& effort,
                        std::vector<Partition>&& found, TaskPool& pool) {
  std::ranges::stable_sort(found, is_better);
  if (std::ssize(found) > effort.kept) found.resize(effort.kept);
  if (found.size() == 1) {
    refine_down(levels, level, 0, effort, found.front(), pool);
    return std::move(found.front());
  }
  pool.for_each_block(std::ssize(found), [&](std::int64_t k) {
    TaskPool alone(1);
    refine_down(levels, level, 0, effort, found[k], alone);
  });
  return best_of(std::move(found));
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

// All but the first, which is there.
void draw_others(const Levels& levels, std::size_t level, std::uint64_t seed,
                 const Effort& effort, std::vector<Partition>& found, TaskPool& pool) {
  pool.for_each_block(std::ssize(found) - 1, [&](std::int64_t k) {
    found[k + 1] = drawn(levels, level, seed, k + 1, effort);
  });
}

// The same with layers, and at the same time as these what takes longest: draws, or the
// way to level 0 of the only one.
Bisection beside_layers(const Levels& levels, std::size_t level, std::uint64_t seed,
                        const Effort& effort, std::vector<Partition>&& found,
                        TaskPool& pool) {
  const Graph& finest = *levels.graphs.front();
  std::vector<Partition> layered(2);
  const bool only = found.size() == 1;
  pool.for_each_block(2 + (only ? 1 : std::ssize(found) - 1), [&](std::int64_t k) {
    if (k < 2) {
      layered[k] = layered_separator(finest, near_end(levels, level, seed, k));
      refine_separator(finest, layered[k], effort.passes);
    } else if (only) {
      TaskPool alone(1);
      refine_down(levels, level, 0, effort, found.front(), alone);
    } else {
      found[k - 1] = drawn(levels, level, seed, k - 1, effort);
    }
  });
  Partition by_levels =
      only ? std::move(found.front())
           : best_followed(levels, level, effort, std::move(found), pool);
  return better_of(std::move(by_levels), best_of(std::move(layered)));
}

}  // namespace

Bisection bisect(const Levels& levels, std::uint64_t seed, TaskPool& pool,
                 const Effort& effort) {
  std::size_t level = levels.maps.size();
  while (level > 0 && levels.graphs[level - 1]->size() <= effort.shared) --level;
  std::vector<Partition> found;
  found.push_back(grown_down(levels, level, seed, effort, pool));
  found.resize(std::max(1, effort.draws));
  if (!effort.layered) {
    draw_others(levels, level, seed, effort, found, pool);
    return {best_followed(levels, level, effort, std::move(found), pool)};
  }
  return beside_layers(levels, level, seed, effort, std::move(found), pool);
}

}  // namespace espalier::solver
