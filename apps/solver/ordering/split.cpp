#include "solver/ordering/split.h"

#include <cstddef>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "espalier/model/free_memory.h"
#include "solver/ordering/vertex_blocks.h"
#include "solver/ordering/vertices_where.h"

namespace espalier::solver {
namespace {

constexpr std::int32_t kFewOnCoarsest = 100;

// The sides that a vertex has a part on, as bits.
constexpr std::int8_t kBitOfSide[] = {1, 2, 0};

// The vertices of a graph with a bit.
struct Selection {
  UnsetVector<std::int32_t> vertices, number;  // number: of those only
};

Selection selected(const std::vector<std::int8_t>& bits, std::int8_t bit,
                   TaskPool& pool) {
  Selection result{{}, UnsetVector<std::int32_t>(bits.size())};
  result.vertices = vertices_where(
      static_cast<std::int32_t>(bits.size()), pool,
      [&](std::int32_t v) { return (bits[v] & bit) != 0; },
      [&](std::int32_t v, std::int32_t number) { result.number[v] = number; });
  return result;
}

// A graph of which a side has the vertices with a bit.
struct Halved {
  const Graph& graph;
  const UnsetVector<std::int32_t>& edges;  // of the level; empty: one each
  const std::vector<std::int8_t>& bits;
  std::int8_t bit;

  // visit(place) of each edge from a vertex to another one of the side.
  template <class Visit>
  void for_each_edge(std::int32_t from, Visit visit) const {
    for (auto at = graph.start[from]; at < graph.start[from + 1]; ++at)
      if ((bits[graph.neighbour[at]] & bit) != 0) visit(at);
  }
};

// A level of a side.
struct InducedLevel {
  Graph graph;
  UnsetVector<std::int32_t> edges;
};

// The edges between selected vertices, counted by blocks and then written to their
// places.
InducedLevel induced(const Halved& whole, const Selection& selection,
                     UnsetVector<std::int32_t>&& weight, TaskPool& pool) {
  const auto blocks =
      VertexBlocks::fine(static_cast<std::int32_t>(selection.vertices.size()));
  std::vector<std::int64_t> first(blocks.count() + 1, 0);
  pool.for_each_block(blocks.count(), [&](std::int64_t k) {
    for (std::int32_t v = blocks.first(k); v < blocks.first(k + 1); ++v)
      whole.for_each_edge(selection.vertices[v], [&](std::int64_t) { ++first[k + 1]; });
  });
  std::partial_sum(first.begin(), first.end(), first.begin());
  InducedLevel result;
  result.graph.weight = std::move(weight);
  result.graph.start.resize(selection.vertices.size() + 1);
  result.graph.start.front() = 0;
  result.graph.neighbour.resize(first.back());
  if (!whole.edges.empty()) result.edges.resize(first.back());
  pool.for_each_block(blocks.count(), [&](std::int64_t k) {
    std::int64_t to = first[k];
    for (std::int32_t v = blocks.first(k); v < blocks.first(k + 1); ++v) {
      whole.for_each_edge(selection.vertices[v], [&](std::int64_t at) {
        result.graph.neighbour[to] = selection.number[whole.graph.neighbour[at]];
        if (!whole.edges.empty()) result.edges[to] = whole.edges[at];
        ++to;
      });
      result.graph.start[v + 1] = to;
    }
  });
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
    bits[k + 1].assign(levels.graphs[k + 1]->size(), 0);
    for (std::size_t v = 0; v < bits[k].size(); ++v)
      bits[k + 1][levels.maps[k][v]] |= bits[k][v];
  }
  return bits;
}

// map, from one level's selection to the next one's.
UnsetVector<std::int32_t> map_between(std::span<const std::int32_t> fine,
                                      const Selection& coarse,
                                      std::span<const std::int32_t> map, TaskPool& pool) {
  UnsetVector<std::int32_t> result(fine.size());
  const auto blocks = VertexBlocks::fine(static_cast<std::int32_t>(fine.size()));
  pool.for_each_block(blocks.count(), [&](std::int64_t k) {
    for (std::int32_t v = blocks.first(k); v < blocks.first(k + 1); ++v)
      result[v] = coarse.number[map[fine[v]]];
  });
  return result;
}

// What coarse vertices weigh, of `count`.
UnsetVector<std::int32_t> added_weights(std::span<const std::int32_t> fine,
                                        std::span<const std::int32_t> map,
                                        std::size_t count) {
  UnsetVector<std::int32_t> result(count, 0);
  for (std::size_t v = 0; v < map.size(); ++v) result[map[v]] += fine[v];
  return result;
}

// A side while it gets its levels, the coarse ones first.
class Side {
 public:
  Side(const Piece& piece, const std::vector<std::int8_t>& bits, std::int8_t bit,
       TaskPool& pool)
      : bit_(bit), pool_(pool), fine_(selected(bits, bit, pool).vertices) {
    result_.vertices = gathered(piece.vertices);
    weight_ = gathered(piece.levels.graphs.front()->weight);
    fine_weight_ = weight_;
    result_.levels.graphs.resize(1);
    result_.levels.edges.resize(1);
  }
  // Level k > 0, where its side is not too small.
  void add_level(const Levels& levels, std::size_t k,
                 const std::vector<std::int8_t>& bits) {
    if (is_coarse_) return;
    Selection coarse = selected(bits, bit_, pool_);
    is_coarse_ = std::ssize(coarse.vertices) < kFewOnCoarsest;
    if (is_coarse_) return;
    Levels& own = result_.levels;
    own.maps.push_back(map_between(fine_, coarse, levels.maps[k - 1], pool_));
    fine_weight_ = added_weights(fine_weight_, own.maps.back(), coarse.vertices.size());
    own.graphs.emplace_back();
    own.edges.emplace_back();
    if (k > 1) {
      auto [graph, edges] =
          induced({*levels.graphs[k], levels.edges[k], bits, bit_}, coarse,
                  UnsetVector<std::int32_t>(fine_weight_), pool_);
      own.graphs.back() = std::make_shared<const Graph>(std::move(graph));
      own.edges.back() = std::move(edges);
    }
    fine_ = std::move(coarse.vertices);
  }
  Piece finish(const Levels& levels, const std::vector<std::int8_t>& bits) {
    auto [graph, edges] = induced({*levels.graphs[0], levels.edges[0], bits, bit_},
                                  selected(bits, bit_, pool_), std::move(weight_), pool_);
    result_.levels.graphs.front() = std::make_shared<const Graph>(std::move(graph));
    return std::move(result_);
  }

 private:
  // Those of the vertices that were added last.
  [[nodiscard]] UnsetVector<std::int32_t> gathered(
      std::span<const std::int32_t> from) const {
    UnsetVector<std::int32_t> result(fine_.size());
    const auto blocks = VertexBlocks::fine(static_cast<std::int32_t>(fine_.size()));
    pool_.for_each_block(blocks.count(), [&](std::int64_t k) {
      for (std::int32_t v = blocks.first(k); v < blocks.first(k + 1); ++v)
        result[v] = from[fine_[v]];
    });
    return result;
  }

  std::int8_t bit_;
  TaskPool& pool_;
  Piece result_;
  UnsetVector<std::int32_t> fine_;                  // of the level that was added last
  UnsetVector<std::int32_t> weight_, fine_weight_;  // of level 0 and of that one
  bool is_coarse_ = false;                          // there are levels enough
};

}  // namespace

std::array<Piece, 2> split(Piece&& piece, const Partition& partition, TaskPool& pool) {
  auto bits = bits_of_levels(piece.levels, partition);
  std::array sides = {Side(piece, bits[0], kBitOfSide[0], pool),
                      Side(piece, bits[0], kBitOfSide[1], pool)};
  free_memory(piece.vertices);
  Levels levels = std::move(piece.levels);
  if (levels.graphs.size() > 1) {
    levels.graphs[1].reset();
    free_memory(levels.edges[1]);
  }
  for (std::size_t k = 1; k < levels.graphs.size(); ++k) {
    for (Side& side : sides) side.add_level(levels, k, bits[k]);
    levels.graphs[k].reset();  // before the next one is there twice
    free_memory(levels.edges[k]);
    free_memory(levels.maps[k - 1]);
  }
  return {sides[0].finish(levels, bits[0]), sides[1].finish(levels, bits[0])};
}

}  // namespace espalier::solver
