#include "solver/ordering/vertex_separator.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "solver/ordering/gain_queue.h"
#include "solver/ordering/mixed_bits.h"

namespace espalier::solver {
namespace {

constexpr std::int8_t kSeparator = Partition::kSeparator;
constexpr double kMostUneven = 0.45;  // of the sides, of the whole
// What uneven sides cost: more where separators are a large part of all, and what is left
// is dense before long.
constexpr double kUneven = 0.8, kUnevenDense = 10;
constexpr std::int64_t kLeastPatience = 30, kMostPatience = 60;

std::int64_t most_difference(const Partition& partition) {
  const auto& weight = partition.weight;
  return static_cast<std::int64_t>(
      kMostUneven * static_cast<double>(weight[0] + weight[1] + weight[2]));
}

// What is compared: less is better, from the first that differs on.
struct Measure {
  std::int64_t excess;  // of the sides' difference
  double cost;          // of the separator, the more the less even it cuts
  std::int64_t difference;
  auto operator<=>(const Measure&) const = default;
};

Measure measure(const Partition& partition, std::int64_t most_difference) {
  const std::int64_t difference = std::abs(partition.weight[0] - partition.weight[1]);
  return {std::max<std::int64_t>(0, difference - most_difference), cost_of(partition),
          difference};
}

// Moves of separator vertices to the sides and back again.
class Mover {
 public:
  Mover(const Graph& graph, Partition& partition)
      : graph_(graph),
        partition_(partition),
        beside_(std::make_unique_for_overwrite<Beside[]>(graph.size())),
        moved_(graph.size(), false) {}

  // Takes the separator's vertices as they are.
  void begin_pass() {
    for (const std::int32_t v : touched_) moved_[v] = false;
    touched_.clear();
    moves_.clear();
    pulled_.clear();
    queue_[0].clear();
    queue_[1].clear();
  }
  void enter(std::int32_t v) {
    look_beside(v);
    for (const int to : {0, 1}) queue_[to].push(gain(v, to), v);
  }
  // How much lighter the separator becomes when v goes to side `to`.
  [[nodiscard]] std::int32_t gain(std::int32_t v, int to) const {
    return graph_.weight[v] - beside_[v][1 - to];
  }
  // The best vertex that may go to side `to`, on top of its queue; false: there is none.
  bool has_move(int to, std::int64_t most_difference) {
    GainQueue& queue = queue_[to];
    for (; !queue.empty(); queue.pop()) {
      const std::int32_t v = queue.vertex();
      if (partition_.side[v] == kSeparator && !moved_[v] && gain(v, to) == queue.gain() &&
          partition_.weight[to] - partition_.weight[1 - to] + graph_.weight[v] +
                  beside_[v][1 - to] <=
              most_difference)
        return true;
    }
    return false;
  }
  [[nodiscard]] const GainQueue& queue(int to) const { return queue_[to]; }
  void move(std::int32_t v, int to);
  // A vertex of side 1.
  void put_into_separator(std::int32_t v) {
    moves_.push_back({v, kSeparator, pulled_.size()});
    set_side(v, kSeparator);
    enter(v);
  }
  // All but the first `keep` of this pass's moves.
  void take_back(std::size_t keep);
  [[nodiscard]] std::size_t moves() const { return moves_.size(); }

 private:
  using Beside = std::array<std::int32_t, 2>;
  struct Move {
    std::int32_t vertex;
    int to;
    std::size_t first_pulled;
  };
  void set_side(std::int32_t v, int side) {
    partition_.weight[partition_.side[v]] -= graph_.weight[v];
    partition_.weight[side] += graph_.weight[v];
    partition_.side[v] = static_cast<std::int8_t>(side);
  }
  void look_beside(std::int32_t v) {
    Beside beside{0, 0};
    for (const std::int32_t other : graph_.neighbours(v))
      if (partition_.side[other] != kSeparator)
        beside[partition_.side[other]] += graph_.weight[other];
    beside_[v] = beside;
  }
  // v, which was on `side`, has come into the separator.
  void pull(std::int32_t v, int side);

  const Graph& graph_;
  Partition& partition_;
  std::unique_ptr<Beside[]> beside_;  // of separator vertices: neighbours' weight by side
  std::vector<bool> moved_;           // in this pass
  std::vector<std::int32_t> touched_, pulled_;
  std::vector<Move> moves_;
  std::array<GainQueue, 2> queue_;
};

void Mover::pull(std::int32_t v, int side) {
  set_side(v, kSeparator);
  pulled_.push_back(v);
  for (const std::int32_t other : graph_.neighbours(v)) {
    if (partition_.side[other] != kSeparator) continue;
    beside_[other][side] -= graph_.weight[v];
    if (!moved_[other]) queue_[1 - side].push(gain(other, 1 - side), other);
  }
  look_beside(v);
  if (moved_[v]) return;
  for (const int to : {0, 1}) queue_[to].push(gain(v, to), v);
}

void Mover::move(std::int32_t v, int to) {
  moves_.push_back({v, to, pulled_.size()});
  moved_[v] = true;
  touched_.push_back(v);
  set_side(v, to);
  for (const std::int32_t other : graph_.neighbours(v)) {
    if (partition_.side[other] != kSeparator) continue;
    beside_[other][to] += graph_.weight[v];
    if (!moved_[other]) queue_[1 - to].push(gain(other, 1 - to), other);
  }
  for (const std::int32_t other : graph_.neighbours(v))
    if (partition_.side[other] == 1 - to) pull(other, 1 - to);
}

void Mover::take_back(std::size_t keep) {
  for (; moves_.size() > keep; moves_.pop_back()) {
    const Move& last = moves_.back();
    for (std::size_t k = last.first_pulled; k < pulled_.size(); ++k)
      set_side(pulled_[k], 1 - last.to);
    pulled_.resize(last.first_pulled);
    set_side(last.vertex, last.to == kSeparator ? 1 : kSeparator);
  }
}

// The side that the next vertex goes to; -1: none may go.
int next_side(Mover& mover, const Partition& partition, std::int64_t most) {
  const bool can[] = {mover.has_move(0, most), mover.has_move(1, most)};
  if (!can[0] || !can[1]) return can[0] ? 0 : can[1] ? 1 : -1;
  const std::int64_t difference =
      std::int64_t{mover.queue(0).gain()} - mover.queue(1).gain();
  if (difference != 0) return difference > 0 ? 0 : 1;
  return partition.weight[0] <= partition.weight[1] ? 0 : 1;
}

// @return whether the pass has found something better
bool run_pass(const std::vector<std::int32_t>& separator, Partition& partition,
              Mover& mover) {
  const std::int64_t most = most_difference(partition);
  const std::int64_t patience =
      std::clamp<std::int64_t>(2 * std::ssize(separator), kLeastPatience, kMostPatience);
  mover.begin_pass();
  for (const std::int32_t v : separator) mover.enter(v);
  const auto before = measure(partition, most);
  auto best = before;
  std::size_t best_moves = 0;
  for (;;) {
    const int to = next_side(mover, partition, most);
    if (to < 0) break;
    mover.move(mover.queue(to).vertex(), to);
    const auto here = measure(partition, most);
    if (here < best) {
      best = here;
      best_moves = mover.moves();
    } else if (static_cast<std::int64_t>(mover.moves() - best_moves) > patience) {
      break;
    }
  }
  mover.take_back(best_moves);
  return best < before;
}

}  // namespace

std::vector<std::int32_t> separator_of(const Partition& partition) {
  std::vector<std::int32_t> separator;
  for (std::size_t v = 0; v < partition.side.size(); ++v)
    if (partition.side[v] == kSeparator)
      separator.push_back(static_cast<std::int32_t>(v));
  return separator;
}

double cost_of(const Partition& partition) {
  const auto& weight = partition.weight;
  const auto separator = static_cast<double>(weight[2]);
  const auto total = static_cast<double>(weight[0] + weight[1]) + separator;
  const double uneven = static_cast<double>(std::abs(weight[0] - weight[1])) / total;
  const double part = separator / total;
  const double cost = kUneven + kUnevenDense * part * part;
  return separator * (1 + cost * uneven * uneven / (1 - uneven * uneven));
}

bool is_better(const Partition& one, const Partition& other) {
  return measure(one, most_difference(one)) < measure(other, most_difference(other));
}

std::int32_t far_from(const Graph& graph, std::int32_t start) {
  std::vector<bool> seen(graph.size(), false);
  std::vector<std::int32_t> queue{start};
  seen[start] = true;
  for (std::size_t k = 0; k < queue.size(); ++k)  // grows on the way
    for (const std::int32_t v : graph.neighbours(queue[k]))
      if (!seen[v]) {
        seen[v] = true;
        queue.push_back(v);
      }
  return queue.back();
}

Partition grown_partition(const Graph& graph, std::uint64_t seed) {
  Partition partition{std::vector<std::int8_t>(graph.size(), 1),
                      {0, total_weight(graph), 0}};
  const std::int64_t most = most_difference(partition);
  Mover mover(graph, partition);
  Measure best = measure(partition, most);
  std::size_t best_moves = 0;
  auto start = static_cast<std::int32_t>(mixed_bits(seed) % graph.size());
  if (seed % 2 == 1) start = far_from(graph, start);
  std::int32_t seen = 0;  // vertices that were looked at for another start
  while (partition.weight[0] - partition.weight[1] < most) {
    if (mover.has_move(0, std::numeric_limits<std::int64_t>::max())) {
      mover.move(mover.queue(0).vertex(), 0);
    } else {  // of another connected part
      for (; seen < graph.size() && partition.side[start] != 1; ++seen)
        start = start + 1 < graph.size() ? start + 1 : 0;
      if (seen == graph.size()) break;
      mover.put_into_separator(start);
    }
    if (const Measure here = measure(partition, most); here < best) {
      best = here;
      best_moves = mover.moves();
    }
  }
  mover.take_back(best_moves);
  return partition;
}

void refine_separator(const Graph& graph, Partition& partition, std::int32_t passes) {
  Mover mover(graph, partition);
  for (std::int32_t pass = 0; pass < passes; ++pass)
    if (!run_pass(separator_of(partition), partition, mover)) break;
}

}  // namespace espalier::solver
