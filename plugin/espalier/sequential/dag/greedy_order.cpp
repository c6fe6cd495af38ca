#include "espalier/sequential/dag/greedy_order.h"

#include <algorithm>
#include <array>
#include <functional>
#include <queue>

namespace espalier {
namespace {

class Greedy {
 public:
  Greedy(const BlockIndex& block, DownsetWalk::Direction direction, GreedyRule rule)
      : walk_(block, direction), rule_(rule), ready_since_(block.size(), 0) {}

  std::vector<BlockTaskId> run(const std::function<bool()>& stop) {
    constexpr std::size_t kAskEvery = 1024;
    std::vector<BlockTaskId> order;
    order.reserve(walk_.block().size());
    for (const BlockTaskId task : walk_.ready()) push(task);
    while (!walk_.at_end()) {
      const Entry entry = open_.top();
      open_.pop();
      const BlockTaskId task = entry.task;
      if (!walk_.is_ready(task) || entry.key != key(task)) continue;  // replaced
      if (stop && order.size() % kAskEvery == 0 && stop()) return {};
      step(task, static_cast<std::int64_t>(order.size()) + 1);
      order.push_back(task);
    }
    if (walk_.direction() == DownsetWalk::Direction::kBackwards) {
      std::reverse(order.begin(), order.end());
    }
    return order;
  }

 private:
  using Key = std::array<std::int64_t, 3>;
  struct Entry {
    Key key;
    BlockTaskId task;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };

  void push(BlockTaskId task) { open_.push({key(task), task}); }

  // Only the change of a task can alter while it is ready, and only downwards.
  [[nodiscard]] Key key(BlockTaskId task) const {
    const Bytes change = walk_.change(task);
    const std::int64_t since = -ready_since_[task];
    const Bytes cost = walk_.hill(task) - walk_.level();
    const std::int64_t adds = change > 0 ? 1 : 0;
    switch (rule_) {
      case GreedyRule::kLeastChange:
        return {change, since, cost};
      case GreedyRule::kLatest:
        return {adds, since, change};
      case GreedyRule::kLeastCost:
        return {adds, adds == 0 ? change : cost, since};
    }
    return {};
  }

  void step(BlockTaskId task, std::int64_t now) {
    walk_.run(task);
    const auto next = walk_.direction() == DownsetWalk::Direction::kForwards
                          ? walk_.block().successors(task)
                          : walk_.block().predecessors(task);
    for (const BlockTaskId after : next) {
      if (!walk_.is_ready(after)) continue;
      ready_since_[after] = now;
      push(after);
    }
    for (const BlockTaskId other : walk_.improved()) {
      if (walk_.is_ready(other)) push(other);
    }
  }

  DownsetWalk walk_;
  GreedyRule rule_;
  IdVector<BlockTaskId, std::int64_t> ready_since_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open_;
};

}  // namespace

std::vector<BlockTaskId> greedy_order(const BlockIndex& block,
                                      DownsetWalk::Direction direction, GreedyRule rule,
                                      const std::function<bool()>& stop) {
  return Greedy(block, direction, rule).run(stop);
}

OrderCost cost_of(const BlockIndex& block, const std::vector<BlockTaskId>& order) {
  DownsetWalk walk(block, DownsetWalk::Direction::kForwards);
  OrderCost cost{std::max(block.start_level(), block.end_level()), walk.ready().size()};
  for (const BlockTaskId task : order) {
    cost.peak = std::max(cost.peak, walk.hill(task));
    walk.run(task);
    cost.most_ready = std::max(cost.most_ready, walk.ready().size());
  }
  return cost;
}

}  // namespace espalier
