#include "solver/ordering/edge_bisection.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "solver/ordering/gain_queue.h"
#include "solver/ordering/mixed_bits.h"

namespace espalier::solver {
namespace {

constexpr std::int32_t kMostPasses = 2, kPatience = 40;
constexpr double kMostDifference = 0.4;  // of the sides, of the whole

// Two sides, and vertices that go from one to the other.
class Cut {
 public:
  Cut(const Graph& graph, std::span<const std::int32_t> edge_weight)
      : graph_(graph),
        edge_weight_(edge_weight),
        side_(graph.size(), 1),
        gain_(graph.size(), 0),
        moved_(graph.size(), false),
        weight_{0, total_weight(graph)},
        most_difference_(static_cast<std::int64_t>(kMostDifference *
                                                   static_cast<double>(weight_[1]))) {
    for (std::int32_t v = 0; v < graph.size(); ++v)
      for (auto k = graph.start[v]; k < graph.start[v + 1]; ++k) gain_[v] -= edge(k);
  }

  // Side 0 grows from the vertex until the sides differ by too much the other way; what
  // was best on the way stays.
  void grow(std::int32_t start) {
    begin_pass();
    while (weight_[0] - weight_[1] < most_difference_) {
      if (!has_move(0)) {
        start = next_of(1, start);
        queue_[0].push(gain_[start], start);
        if (!has_move(0)) break;
      }
      step(0);
    }
    keep_best();
  }
  void refine() {
    for (std::int32_t pass = 0; pass < kMostPasses; ++pass) {
      begin_pass();
      for (std::int32_t v = 0; v < graph_.size(); ++v)
        if (touches_cut(v)) queue_[1 - side_[v]].push(gain_[v], v);
      for (;;) {
        const int to = next_side();
        if (to < 0 || moves_.size() - best_moves_ > kPatience) break;
        step(to);
      }
      const bool better = best_moves_ > 0;
      keep_best();
      if (!better) break;
    }
  }
  [[nodiscard]] Partition separated() const {
    Partition partition{std::vector<std::int8_t>(graph_.size()), {0, 0, 0}};
    for (std::int32_t v = 0; v < graph_.size(); ++v) {
      partition.side[v] = touches_cut(v) ? Partition::kSeparator : side_[v];
      partition.weight[partition.side[v]] += graph_.weight[v];
    }
    return partition;
  }

 private:
  struct Measure {
    std::int64_t excess, cut, difference;
    auto operator<=>(const Measure&) const = default;
  };
  [[nodiscard]] std::int32_t edge(std::int64_t k) const {
    return edge_weight_.empty() ? 1 : edge_weight_[k];
  }
  [[nodiscard]] Measure measure() const {
    const std::int64_t difference = std::abs(weight_[0] - weight_[1]);
    return {std::max<std::int64_t>(0, difference - most_difference_), cut_, difference};
  }
  [[nodiscard]] bool touches_cut(std::int32_t v) const {
    return std::ranges::any_of(graph_.neighbours(v), [&](std::int32_t other) {
      return side_[other] != side_[v];
    });
  }
  [[nodiscard]] std::int32_t next_of(int side, std::int32_t from) const {
    while (side_[from] != side) from = from + 1 < graph_.size() ? from + 1 : 0;
    return from;
  }
  void begin_pass() {
    moved_.assign(moved_.size(), false);
    moves_.clear();
    for (GainQueue& queue : queue_) queue.clear();
    best_ = measure();
    best_moves_ = 0;
  }
  bool has_move(int to) {
    GainQueue& queue = queue_[to];
    for (; !queue.empty(); queue.pop()) {
      const std::int32_t v = queue.vertex();
      if (side_[v] != to && !moved_[v] && gain_[v] == queue.gain() &&
          weight_[to] - weight_[1 - to] + 2 * std::int64_t{graph_.weight[v]} <=
              std::max(most_difference_, std::int64_t{graph_.weight[v]}))
        return true;
    }
    return false;
  }
  int next_side() {
    const bool can[] = {has_move(0), has_move(1)};
    if (!can[0] || !can[1]) return can[0] ? 0 : can[1] ? 1 : -1;
    if (queue_[0].gain() != queue_[1].gain())
      return queue_[0].gain() > queue_[1].gain() ? 0 : 1;
    return weight_[0] <= weight_[1] ? 0 : 1;
  }
  void flip(std::int32_t v) {
    const int to = 1 - side_[v];
    weight_[side_[v]] -= graph_.weight[v];
    weight_[to] += graph_.weight[v];
    side_[v] = static_cast<std::int8_t>(to);
    cut_ -= gain_[v];
    gain_[v] = -gain_[v];
    for (auto k = graph_.start[v]; k < graph_.start[v + 1]; ++k) {
      const std::int32_t other = graph_.neighbour[k];
      gain_[other] += side_[other] == to ? -2 * edge(k) : 2 * edge(k);
    }
  }
  void step(int to) {
    const std::int32_t v = queue_[to].vertex();
    flip(v);
    moved_[v] = true;
    moves_.push_back(v);
    for (const std::int32_t other : graph_.neighbours(v))
      if (!moved_[other]) queue_[1 - side_[other]].push(gain_[other], other);
    if (const Measure here = measure(); here < best_) {
      best_ = here;
      best_moves_ = moves_.size();
    }
  }
  void keep_best() {
    for (; moves_.size() > best_moves_; moves_.pop_back()) flip(moves_.back());
  }

  const Graph& graph_;
  std::span<const std::int32_t> edge_weight_;
  std::vector<std::int8_t> side_;
  std::vector<std::int32_t> gain_;  // edges that leave the cut when the vertex moves
  std::vector<bool> moved_;         // in this pass
  std::array<std::int64_t, 2> weight_;
  std::int64_t most_difference_, cut_ = 0;
  std::array<GainQueue, 2> queue_;
  std::vector<std::int32_t> moves_;
  Measure best_{};
  std::size_t best_moves_ = 0;
};

}  // namespace

Partition partition_from_cut(const Graph& graph,
                             std::span<const std::int32_t> edge_weight,
                             std::uint64_t seed) {
  Cut cut(graph, edge_weight);
  cut.grow(static_cast<std::int32_t>(mixed_bits(seed) % graph.size()));
  cut.refine();
  return cut.separated();
}

}  // namespace espalier::solver
