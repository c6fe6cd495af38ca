#include "espalier/sequential/dag/least_peak.h"

#include <algorithm>
#include <utility>

#include "espalier/sequential/dag/bounded_search.h"
#include "espalier/sequential/dag/greedy_order.h"
#include "espalier/sequential/dag/memory_lower_bound.h"

namespace espalier {
namespace {

using Answer = BoundedOrder::Answer;
using Direction = DownsetWalk::Direction;

constexpr std::int64_t kFirstStates = 256;
constexpr std::int64_t kMoreStates = 4;
// Steps of a search times tasks that it looks at in each: beyond it one walk takes
// minutes.
constexpr std::size_t kLongestWalk = std::size_t{1} << 32;

class Narrowing {
 public:
  Narrowing(const BlockIndex& block, Bytes floor, PeakOrder& found, SearchBudget& budget)
      : block_(block), floor_(floor), found_(found), budget_(budget) {}

  void run() {
    for (std::int64_t states = kFirstStates; is_open(); states *= kMoreStates) {
      round(states);
    }
  }

 private:
  [[nodiscard]] bool is_open() {
    return found_.peak > std::max(found_.lower_bound, floor_) && !budget_.is_spent();
  }

  // Bounds by bisection, with a number of states for each search.
  void round(std::int64_t states) {
    Bytes bound = std::max(found_.lower_bound, floor_);
    Bytes least = bound;  // smaller ones are impossible or too hard
    while (is_open() && least < found_.peak) {
      if (probe(bound, states) == Answer::kUnknown) least = bound + 1;
      least = std::max({least, found_.lower_bound, floor_});
      bound = least + (found_.peak - 1 - least) / 2;
    }
  }

  Answer probe(Bytes bound, std::int64_t states) {
    Answer answer = Answer::kUnknown;
    for (const Direction direction : {Direction::kForwards, Direction::kBackwards}) {
      answer = search(bound, direction, states);
      if (answer != Answer::kUnknown) break;
    }
    return answer;
  }

  Answer search(Bytes bound, Direction direction, std::int64_t states) {
    BoundedOrder result =
        bounded_search(block_, bound, direction,
                       {.states = std::min(states, budget_.states_left()),
                        .bytes = budget_.bytes(),
                        .stop = [this] { return budget_.is_spent(); }});
    budget_.count(result.states);
    if (result.answer == Answer::kFits) {
      found_.peak = cost_of(block_, result.order).peak;
      found_.order = std::move(result.order);
    } else if (result.answer == Answer::kImpossible) {
      found_.lower_bound =
          std::max(found_.lower_bound, std::min(result.least_bytes, found_.peak));
    }
    return result.answer;
  }

  const BlockIndex& block_;
  Bytes floor_;
  PeakOrder& found_;
  SearchBudget& budget_;
};

}  // namespace

PeakOrder first_order(const BlockIndex& block, const std::function<bool()>& stop) {
  PeakOrder best;
  best.order = block.topological_order();
  best.peak = cost_of(block, best.order).peak;
  best.lower_bound = memory_lower_bound(block, kMostTasksByPrecedence, stop);
  for (const Direction direction : {Direction::kForwards, Direction::kBackwards}) {
    for (const GreedyRule rule :
         {GreedyRule::kLeastChange, GreedyRule::kLatest, GreedyRule::kLeastCost}) {
      if (best.peak == best.lower_bound) return best;
      std::vector<BlockTaskId> order = greedy_order(block, direction, rule, stop);
      if (order.empty()) return best;
      const Bytes peak = cost_of(block, order).peak;
      if (peak < best.peak) {
        best.peak = peak;
        best.order = std::move(order);
      }
    }
  }
  return best;
}

void narrow(const BlockIndex& block, Bytes floor, PeakOrder& found,
            SearchBudget& budget) {
  const std::size_t width =
      std::max<std::size_t>(1, cost_of(block, found.order).most_ready);
  if (block.size() > kLongestWalk / width) return;
  Narrowing(block, floor, found, budget).run();
}

}  // namespace espalier
