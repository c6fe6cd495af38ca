#include "solver/ordering/bisect.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "solver/ordering/edge_bisection.h"
#include "solver/ordering/vertex_blocks.h"

namespace espalier::solver {
namespace {

constexpr std::int32_t kFewOnCoarsest = 100;

// The sides that a vertex has a part on, as bits.
constexpr std::int8_t kBitOfSide[] = {1, 2, 0};

Partition projected(const Partition& coarse, const std::vector<std::int32_t>& map) {
  Partition fine{std::vector<std::int8_t>(map.size()), coarse.weight};
  for (std::size_t v = 0; v < map.size(); ++v) fine.side[v] = coarse.side[map[v]];
  return fine;
}

// Of separators that grow by vertices, from two seeds, and one from an edge cut.
Partition best_of_coarsest(const Levels& levels, std::uint64_t seed) {
  const Graph& graph = levels.graphs.back();
  Partition candidates[] = {grown_partition(graph, seed),
                            partition_from_cut(graph, levels.edges.back(), seed + 1),
                            grown_partition(graph, seed + 2)};
  for (Partition& each : candidates) refine_separator(graph, each);
  return std::move(*std::ranges::min_element(candidates, is_better));
}

// The vertices of a graph with a bit.
struct Selection {
  std::vector<std::int32_t> vertices, number;  // number: of those only
};

Selection selected(const std::vector<std::int8_t>& bits, std::int8_t bit,
                   TaskPool& pool) {
  const VertexBlocks blocks(static_cast<std::int32_t>(bits.size()));
  std::vector<std::int64_t> first(blocks.count() + 1, 0);
  pool.for_each_block(blocks.count(), [&](std::int64_t k) {
    for (std::int32_t v = blocks.first(k); v < blocks.first(k + 1); ++v)
      first[k + 1] += (bits[v] & bit) != 0;
  });
  std::partial_sum(first.begin(), first.end(), first.begin());
  Selection result{std::vector<std::int32_t>(first.back()),
                   std::vector<std::int32_t>(bits.size())};
  pool.for_each_block(blocks.count(), [&](std::int64_t k) {
    auto next = static_cast<std::int32_t>(first[k]);
    for (std::int32_t v = blocks.first(k); v < blocks.first(k + 1); ++v) {
      if ((bits[v] & bit) == 0) continue;
      result.vertices[next] = v;
      result.number[v] = next++;
    }
  });
  return result;
}

// The lists one behind the other.
std::vector<std::int32_t> joined(std::vector<std::vector<std::int32_t>>&& lists,
                                 TaskPool& pool) {
  if (lists.size() == 1) return std::move(lists.front());
  std::vector<std::int64_t> start(1, 0);
  for (const auto& list : lists) start.push_back(start.back() + std::ssize(list));
  std::vector<std::int32_t> result(start.back());
  pool.for_each_block(std::ssize(lists), [&](std::int64_t k) {
    std::ranges::copy(lists[k], result.begin() + start[k]);
    lists[k] = {};
  });
  return result;
}

// A level of a side: its edges, not yet its weights.
struct InducedLevel {
  Graph graph;
  std::vector<std::int32_t> edges;
};

// The edges between selected vertices of level k.
InducedLevel induced(const Levels& levels, std::size_t level,
                     const std::vector<std::int8_t>& bits, std::int8_t bit,
                     const Selection& selection, TaskPool& pool) {
  const Graph& graph = levels.graphs[level];
  const std::vector<std::int32_t>& edges = levels.edges[level];
  const VertexBlocks blocks(static_cast<std::int32_t>(selection.vertices.size()));
  InducedLevel result;
  std::vector<std::int64_t>& start = result.graph.start;
  start.assign(selection.vertices.size() + 1, 0);
  std::vector<std::vector<std::int32_t>> neighbours(blocks.count());
  std::vector<std::vector<std::int32_t>> weights(blocks.count());
  pool.for_each_block(blocks.count(), [&](std::int64_t k) {
    for (std::int32_t v = blocks.first(k); v < blocks.first(k + 1); ++v) {
      const std::int64_t before = std::ssize(neighbours[k]);
      const std::int32_t from = selection.vertices[v];
      for (auto at = graph.start[from]; at < graph.start[from + 1]; ++at) {
        const std::int32_t other = graph.neighbour[at];
        if ((bits[other] & bit) == 0) continue;
        neighbours[k].push_back(selection.number[other]);
        if (!edges.empty()) weights[k].push_back(edges[at]);
      }
      start[v + 1] = std::ssize(neighbours[k]) - before;
    }
  });
  std::partial_sum(start.begin(), start.end(), start.begin());
  result.graph.neighbour = joined(std::move(neighbours), pool);
  result.edges = joined(std::move(weights), pool);
  return result;
}

// bits[k][v]: the sides that vertex v of level k has a part on.
std::vector<std::vector<std::int8_t>> bits_of_levels(const Levels& levels,
                                                     const Partition& partition) {
  std::vector<std::vector<std::int8_t>> bits(levels.graphs.size());
  bits[0].resize(partition.side.size());
  for (std::size_t v = 0; v < bits[0].size(); ++v)
    bits[0][v] = kBitOfSide[partition.side[v]];
  for (std::size_t k = 0; k < levels.maps.size(); ++k) {
    bits[k + 1].assign(levels.graphs[k + 1].size(), 0);
    for (std::size_t v = 0; v < bits[k].size(); ++v)
      bits[k + 1][levels.maps[k][v]] |= bits[k][v];
  }
  return bits;
}

// Level k of a side, behind those that it has.
void append_level(const Levels& levels, std::size_t k,
                  const std::vector<std::int8_t>& bits, std::int8_t bit,
                  const Selection& selection, Levels& side, TaskPool& pool) {
  auto [graph, edges] = induced(levels, k, bits, bit, selection, pool);
  graph.weight.assign(selection.vertices.size(), 0);
  if (k == 0) {
    for (std::size_t v = 0; v < graph.weight.size(); ++v)
      graph.weight[v] = levels.graphs[0].weight[selection.vertices[v]];
  } else {
    const Graph& finer = side.graphs.back();
    for (std::int32_t v = 0; v < finer.size(); ++v)
      graph.weight[side.maps.back()[v]] += finer.weight[v];
  }
  side.graphs.push_back(std::move(graph));
  side.edges.push_back(std::move(edges));
}

// map, from one level's selection to the next one's.
std::vector<std::int32_t> map_between(const Selection& fine, const Selection& coarse,
                                      const std::vector<std::int32_t>& map) {
  std::vector<std::int32_t> result(fine.vertices.size());
  for (std::size_t v = 0; v < result.size(); ++v)
    result[v] = coarse.number[map[fine.vertices[v]]];
  return result;
}

}  // namespace

Partition bisect(const Piece& piece, std::uint64_t seed) {
  const Levels& levels = piece.levels;
  Partition partition = best_of_coarsest(levels, seed);
  for (std::size_t k = levels.maps.size(); k-- > 0;) {
    partition = projected(partition, levels.maps[k]);
    refine_separator(levels.graphs[k], partition);
  }
  return partition;
}

std::array<Piece, 2> split(Piece&& piece, const Partition& partition, TaskPool& pool) {
  const Levels levels = std::move(piece.levels);
  const auto bits = bits_of_levels(levels, partition);
  std::array<Piece, 2> sides;
  for (const int side : {0, 1}) {
    const std::int8_t bit = kBitOfSide[side];
    Levels& own = sides[side].levels;
    Selection selection = selected(bits[0], bit, pool);
    for (const std::int32_t v : selection.vertices)
      sides[side].vertices.push_back(piece.vertices[v]);
    append_level(levels, 0, bits[0], bit, selection, own, pool);
    for (std::size_t k = 1; k < levels.graphs.size(); ++k) {
      Selection coarse = selected(bits[k], bit, pool);
      if (std::ssize(coarse.vertices) < kFewOnCoarsest) break;
      own.maps.push_back(map_between(selection, coarse, levels.maps[k - 1]));
      append_level(levels, k, bits[k], bit, coarse, own, pool);
      selection = std::move(coarse);
    }
  }
  return sides;
}

}  // namespace espalier::solver
