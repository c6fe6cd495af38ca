// Above 300 lines: a matching, what it makes of the graph, and the way back from a map
// alone know the same numbering.

#include "solver/ordering/coarsen.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>
#include <utility>

#include "espalier/model/free_memory.h"
#include "solver/ordering/mixed_bits.h"
#include "solver/ordering/vertex_blocks.h"
#include "solver/ordering/vertices_where.h"

namespace espalier::solver {
namespace {

constexpr std::int32_t kAlone = -1;
constexpr double kHeaviestPair = 3;           // of the mean weight
constexpr std::int32_t kMostEdges = 1 << 22;  // counted between two: sums stay small
constexpr double kTooManyAlone = 0.15, kTooFewPairs = 0.95;

// A graph while it is coarsened: its edges weigh as many as they stand for.
struct Level {
  const Graph& graph;
  std::span<const std::int32_t> edge_weight;  // empty: one each
};

struct VertexMatching {
  UnsetVector<std::int32_t> mate;  // kAlone: none
  std::int64_t heaviest;           // that a pair may be
};

// The best free neighbour between `from` and `to`, of equal ones the first behind one
// that is drawn by lot; kAlone: none.
std::int32_t best_neighbour(const Level& level, const VertexMatching& matching,
                            std::int32_t vertex, std::int32_t from, std::int32_t to) {
  const Graph& graph = level.graph;
  const auto degree =
      static_cast<std::uint32_t>(graph.start[vertex + 1] - graph.start[vertex]);
  std::int32_t best = kAlone;
  float best_rating = 0;
  const auto lot = static_cast<std::uint32_t>(
      std::uint64_t{static_cast<std::uint32_t>(vertex) * 0x9e3779b1U} * degree >> 32);
  for (std::uint32_t i = 0; i < degree; ++i) {
    const auto k = graph.start[vertex] + (i + lot < degree ? i + lot : i + lot - degree);
    const std::int32_t other = graph.neighbour[k];
    if (other < from || other >= to || matching.mate[other] != kAlone) continue;
    const std::int64_t pair = std::int64_t{graph.weight[vertex]} + graph.weight[other];
    if (pair > matching.heaviest) continue;
    const auto edges =
        level.edge_weight.empty() ? 1.0F : static_cast<float>(level.edge_weight[k]);
    const float rating = edges * edges / static_cast<float>(graph.weight[other]);
    if (rating > best_rating) {
      best_rating = rating;
      best = other;
    }
  }
  return best;
}

void match(VertexMatching& matching, std::int32_t one, std::int32_t other) {
  matching.mate[one] = other;
  matching.mate[other] = one;
}

// first to last - 1 in an order that is drawn by lot.
std::vector<std::int32_t> shuffled(std::int32_t first, std::int32_t last) {
  std::vector<std::int32_t> order(last - first);
  std::iota(order.begin(), order.end(), first);
  std::uint64_t lot = mixed_bits(first);
  for (std::size_t k = order.size(); k > 1; --k) {
    lot = lot * 6364136223846793005U + 1442695040888963407U;
    std::swap(order[k - 1], order[(lot >> 32) * k >> 32]);
  }
  return order;
}

// Those of block `k`, none of which has a mate yet, with each other; the vertices that
// stay alone.
std::vector<std::int32_t> match_block(const Level& level, const VertexBlocks& blocks,
                                      std::int64_t k, VertexMatching& matching) {
  std::fill(matching.mate.begin() + blocks.first(k),
            matching.mate.begin() + blocks.first(k + 1), kAlone);
  std::vector<std::int32_t> alone;
  for (const std::int32_t v : shuffled(blocks.first(k), blocks.first(k + 1))) {
    if (matching.mate[v] != kAlone) continue;
    const std::int32_t best =
        best_neighbour(level, matching, v, blocks.first(k), blocks.first(k + 1));
    if (best != kAlone)
      match(matching, v, best);
    else
      alone.push_back(v);
  }
  return alone;
}

// Vertices that are alone and have a neighbour in common, or none at all.
void match_over_neighbours(const Graph& graph, VertexMatching& matching) {
  std::int32_t isolated = kAlone;
  const auto pair_up = [&](std::int32_t& waiting, std::int32_t v) {
    if (matching.mate[v] != kAlone) return;
    const bool fits =
        waiting != kAlone && waiting != v && matching.mate[waiting] == kAlone &&
        std::int64_t{graph.weight[waiting]} + graph.weight[v] <= matching.heaviest;
    if (fits) match(matching, waiting, v);
    waiting = fits ? kAlone : v;
  };
  for (std::int32_t v = 0; v < graph.size(); ++v) {
    std::int32_t waiting = kAlone;
    if (graph.neighbours(v).empty()) pair_up(isolated, v);
    for (const std::int32_t other : graph.neighbours(v)) pair_up(waiting, other);
  }
}

VertexMatching matched(const Level& level, const VertexBlocks& blocks, TaskPool& pool) {
  const Graph& graph = level.graph;
  const auto total = static_cast<double>(total_weight(graph));
  VertexMatching matching{
      UnsetVector<std::int32_t>(graph.size()),
      static_cast<std::int64_t>(kHeaviestPair * total / graph.size())};
  std::vector<std::vector<std::int32_t>> alone(blocks.count());
  pool.for_each_block(blocks.count(), [&](std::int64_t k) {
    alone[k] = match_block(level, blocks, k, matching);
  });
  std::int64_t left = 0;
  for (const auto& of_block : alone)
    for (const std::int32_t v : of_block) {
      if (matching.mate[v] != kAlone) continue;
      const std::int32_t best = best_neighbour(level, matching, v, 0, graph.size());
      if (best != kAlone)
        match(matching, v, best);
      else
        ++left;
    }
  if (static_cast<double>(left) > kTooManyAlone * graph.size())
    match_over_neighbours(graph, matching);
  return matching;
}

// Numbers pairs and those that are alone by their first vertex: maps, and the first
// vertex of each.
struct Numbering {
  UnsetVector<std::int32_t> map, leader;
};

Numbering numbered(const VertexMatching& matching, TaskPool& pool) {
  const UnsetVector<std::int32_t>& mate = matching.mate;
  Numbering result{UnsetVector<std::int32_t>(mate.size()), {}};
  result.leader = vertices_where(
      static_cast<std::int32_t>(mate.size()), pool,
      [&](std::int32_t v) { return mate[v] == kAlone || mate[v] > v; },
      [&](std::int32_t v, std::int32_t number) {
        result.map[v] = number;
        if (mate[v] != kAlone) result.map[mate[v]] = number;
      });
  return result;
}

// The pairs of a numbering of which the map alone is there: its leaders are added.
UnsetVector<std::int32_t> mates_by(Numbering& numbering) {
  const UnsetVector<std::int32_t>& map = numbering.map;
  UnsetVector<std::int32_t> mate(map.size(), kAlone);
  numbering.leader.assign(*std::ranges::max_element(map) + 1LL, kAlone);
  for (std::int32_t v = 0; v < std::ssize(map); ++v) {
    std::int32_t& leader = numbering.leader[map[v]];
    if (leader == kAlone)
      leader = v;
    else
      mate[leader] = v;
  }
  return mate;
}

// The edges of one coarse vertex after the other, equal ones added up, in two lists that
// have room for them. A slot of the table holds a place in these; places before the
// vertex's own edges are empty slots.
class EdgeSum {
 public:
  EdgeSum(std::int64_t most_edges_of_a_vertex, std::int32_t* neighbour,
          std::int32_t* weight)
      : neighbour_(neighbour),
        weight_(weight),
        slot_(std::bit_ceil(2 * static_cast<std::size_t>(most_edges_of_a_vertex) + 2),
              -1) {}
  void begin_vertex() { begin_ = end_; }
  void add(std::int32_t to, std::int32_t edges) {
    std::size_t at = static_cast<std::uint32_t>(to) * 0x9e3779b1U & (slot_.size() - 1);
    for (; slot_[at] >= begin_; at = (at + 1) & (slot_.size() - 1)) {
      if (neighbour_[slot_[at]] != to) continue;
      std::int32_t& sum = weight_[slot_[at]];
      sum = static_cast<std::int32_t>(
          std::min<std::int64_t>(kMostEdges, std::int64_t{sum} + edges));
      return;
    }
    slot_[at] = end_;
    neighbour_[end_] = to;
    weight_[end_++] = edges;
  }
  [[nodiscard]] std::int64_t edges_of_vertex() const { return end_ - begin_; }
  [[nodiscard]] std::int64_t edges() const { return end_; }

 private:
  std::int32_t *neighbour_, *weight_;
  std::vector<std::int64_t> slot_;
  std::int64_t begin_ = 0, end_ = 0;
};

// The edges of each block of coarse vertices are summed in a place that would do for the
// fine ones, and moved together when it is known how many there are.
class Contraction {
 public:
  Contraction(const Level& level, const UnsetVector<std::int32_t>& mate,
              const Numbering& numbering)
      : level_(level),
        mate_(mate),
        numbering_(numbering),
        blocks_(
            VertexBlocks::for_edges(static_cast<std::int32_t>(numbering.leader.size()))),
        place_(blocks_.count() + 1, 0),
        start_(blocks_.count() + 1, 0),
        most_(blocks_.count(), 0) {
    coarse_.start.resize(numbering.leader.size() + 1);
    coarse_.weight.resize(numbering.leader.size());
  }
  // The coarse graph; its edges' weights take the place of `edge_weight`.
  Graph run(UnsetVector<std::int32_t>& edge_weight, TaskPool& pool) {
    pool.for_each_block(blocks_.count(), [&](std::int64_t k) { count_edge_ends(k); });
    std::partial_sum(place_.begin(), place_.end(), place_.begin());
    UnsetVector<std::int32_t> neighbour(place_.back()), weight(place_.back());
    pool.for_each_block(blocks_.count(), [&](std::int64_t k) {
      start_[k + 1] =
          sum_block(k, neighbour.data() + place_[k], weight.data() + place_[k]);
    });
    std::partial_sum(start_.begin(), start_.end(), start_.begin());
    coarse_.start.front() = 0;
    coarse_.neighbour.resize(start_.back());
    pool.for_each_block(blocks_.count(), [&](std::int64_t k) {
      add_up_counts(k);
      move_block(k, neighbour, coarse_.neighbour);
    });
    free_memory(neighbour);
    edge_weight.resize(start_.back());
    pool.for_each_block(blocks_.count(),
                        [&](std::int64_t k) { move_block(k, weight, edge_weight); });
    return std::move(coarse_);
  }

 private:
  [[nodiscard]] std::int64_t edge_ends(std::int32_t coarse) const {
    const std::int32_t one = numbering_.leader[coarse], other = mate_[one];
    const Graph& graph = level_.graph;
    return graph.start[one + 1] - graph.start[one] +
           (other == kAlone ? 0 : graph.start[other + 1] - graph.start[other]);
  }
  void count_edge_ends(std::int64_t k) {
    for (std::int32_t c = blocks_.first(k); c < blocks_.first(k + 1); ++c) {
      const std::int64_t ends = edge_ends(c);
      most_[k] = std::max(most_[k], ends);
      place_[k + 1] += ends;
    }
  }
  void add_edges(std::int32_t vertex, std::int32_t coarse, EdgeSum& sum) const {
    const Graph& graph = level_.graph;
    for (auto k = graph.start[vertex]; k < graph.start[vertex + 1]; ++k) {
      const std::int32_t to = numbering_.map[graph.neighbour[k]];
      if (to != coarse)
        sum.add(to, level_.edge_weight.empty() ? 1 : level_.edge_weight[k]);
    }
  }
  // How many edges there are; of each vertex, in the place of where the next one's start.
  std::int64_t sum_block(std::int64_t k, std::int32_t* neighbour, std::int32_t* weight) {
    EdgeSum sum(most_[k], neighbour, weight);
    for (std::int32_t c = blocks_.first(k); c < blocks_.first(k + 1); ++c) {
      const std::int32_t one = numbering_.leader[c], other = mate_[one];
      coarse_.weight[c] = level_.graph.weight[one];
      sum.begin_vertex();
      add_edges(one, c, sum);
      if (other != kAlone) {
        coarse_.weight[c] += level_.graph.weight[other];
        add_edges(other, c, sum);
      }
      coarse_.start[c + 1] = sum.edges_of_vertex();
    }
    return sum.edges();
  }
  // The counts of its vertices become where the next vertex' edges start.
  void add_up_counts(std::int64_t k) {
    std::int64_t* const counts = coarse_.start.data() + 1;
    counts[blocks_.first(k)] += start_[k];
    std::partial_sum(counts + blocks_.first(k), counts + blocks_.first(k + 1),
                     counts + blocks_.first(k));
  }
  void move_block(std::int64_t k, const UnsetVector<std::int32_t>& from,
                  UnsetVector<std::int32_t>& to) const {
    std::copy_n(from.begin() + place_[k], start_[k + 1] - start_[k],
                to.begin() + start_[k]);
  }

  const Level& level_;
  const UnsetVector<std::int32_t>& mate_;
  const Numbering& numbering_;
  VertexBlocks blocks_;
  std::vector<std::int64_t> place_, start_;  // of each block's edges, at first and then
  std::vector<std::int64_t> most_;           // edge ends of a vertex, of each block
  Graph coarse_;
};

}  // namespace

Levels coarsen(std::shared_ptr<const Graph> graph, std::int32_t most, TaskPool& pool) {
  Levels levels;
  levels.graphs.push_back(std::move(graph));
  levels.edges.emplace_back();
  while (levels.graphs.back()->size() > most) {
    pool.ask();
    const Level level{*levels.graphs.back(), levels.edges.back()};
    const VertexMatching matching =
        matched(level, VertexBlocks(level.graph.size()), pool);
    Numbering numbering = numbered(matching, pool);
    const auto coarse = static_cast<double>(numbering.leader.size());
    if (coarse > kTooFewPairs * level.graph.size()) break;
    UnsetVector<std::int32_t> edge_weight;
    Graph next = Contraction(level, matching.mate, numbering).run(edge_weight, pool);
    levels.graphs.push_back(std::make_shared<const Graph>(std::move(next)));
    levels.edges.push_back(std::move(edge_weight));
    levels.maps.push_back(std::move(numbering.map));
  }
  return levels;
}

void restore_level_1(Levels& levels, TaskPool& pool) {
  if (levels.maps.empty() || levels.graphs[1] != nullptr) return;
  Numbering numbering{std::move(levels.maps[0]), {}};
  const UnsetVector<std::int32_t> mate = mates_by(numbering);
  const Level level{*levels.graphs[0], levels.edges[0]};
  Graph coarse = Contraction(level, mate, numbering).run(levels.edges[1], pool);
  levels.graphs[1] = std::make_shared<const Graph>(std::move(coarse));
  levels.maps[0] = std::move(numbering.map);
}

}  // namespace espalier::solver
