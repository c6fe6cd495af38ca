#include "espalier/sequential/series_parallel/shared_fork_order.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "espalier/model/error.h"
#include "espalier/sequential/series_parallel/shared_fork_phases.h"

namespace espalier {
namespace {

constexpr std::size_t kMostStarts = 20;  // a table of their sets is kept

// Depth first through the orders of starts, for one bound after the other.
class StartOrders {
 public:
  StartOrders(SharedForkPhases phases, std::size_t most_checks)
      : phases_(std::move(phases)),
        needs_(phases_.needs_by_set()),
        checks_left_(most_checks) {}

  // No order of the block has a lower peak.
  [[nodiscard]] Bytes lower_bound() const { return needs_[0]; }

  // Whether some order fits; if none does, next_bound() is the least that is worth a try.
  bool search(Bytes bound) {
    next_bound_ = std::numeric_limits<Bytes>::max();
    const std::span<const ForkChainId> starts = phases_.starts();
    std::vector<ForkChainId> order;
    std::vector<std::size_t> choice{0};  // by depth: the next of `starts` to try
    std::uint32_t set = 0;               // of `order`, a bit a start
    while (!choice.empty()) {
      if (choice.back() == starts.size()) {
        choice.pop_back();
        if (!order.empty()) order.pop_back();
        if (!choice.empty()) set &= ~bit(choice.back() - 1);
        continue;
      }
      const ForkChainId chain = starts[choice.back()++];
      if (!phases_.may_follow(order, chain)) continue;
      const Bytes need = needs_[set | bit(choice.back() - 1)];
      if (need > bound) {
        next_bound_ = std::min(next_bound_, need);
        continue;
      }
      if (checks_left_ == 0) return false;
      --checks_left_;
      order.push_back(chain);
      if (!phases_.fits(order, bound)) {
        next_bound_ = std::min(next_bound_, phases_.next_bound());
        order.pop_back();
      } else if (order.size() == starts.size()) {
        return true;
      } else {
        set |= bit(choice.back() - 1);
        choice.push_back(0);
      }
    }
    return false;
  }

  [[nodiscard]] std::vector<ForkNodeId> nodes() const { return phases_.nodes(); }
  [[nodiscard]] Bytes next_bound() const { return next_bound_; }
  [[nodiscard]] std::size_t checks_left() const { return checks_left_; }

 private:
  static std::uint32_t bit(std::size_t start) { return std::uint32_t{1} << start; }

  SharedForkPhases phases_;
  std::vector<Bytes> needs_;  // SharedForkPhases::needs_by_set()
  std::size_t checks_left_;
  Bytes next_bound_ = 0;
};

// With nodes as tasks of their own, so that profiles link nothing outside.
FoldedBlock renumbered(const FoldedBlock& block) {
  FoldedBlock local = block;
  for (std::size_t k = 0; k < local.nodes.size(); ++k) {
    local.nodes[k].first = local.nodes[k].last = task_id(k);
  }
  return local;
}

}  // namespace

SharedForkOrder shared_fork_order(const FoldedBlock& block, std::size_t most_checks) {
  ESPALIER_ASSERT(!block.is_chain(), "a chain has one order");
  const FoldedBlock local = renumbered(block);
  std::vector<TaskId> next(block.nodes.size());
  const auto peak_of = [&](const std::vector<ForkNodeId>& order) {
    return whole(profile_of(local, order, next), next).peak;
  };
  SharedForkOrder best{last_reader_order(block), 0, 0, 0};
  best.peak = peak_of(best.order);
  SharedForkPhases phases(block);
  if (phases.starts().size() > kMostStarts) return best;
  StartOrders orders(std::move(phases), most_checks);
  best.lower_bound = std::min(orders.lower_bound(), best.peak);
  while (best.lower_bound < best.peak) {
    const Bytes bound = best.lower_bound + (best.peak - best.lower_bound) / 2;
    if (orders.search(bound)) {
      best.order = orders.nodes();
      best.peak = peak_of(best.order);
      ESPALIER_ASSERT(best.peak <= bound, "the phases keep the bound");
    } else if (orders.checks_left() == 0) {
      break;
    } else {
      best.lower_bound = std::min(orders.next_bound(), best.peak);
    }
  }
  best.checks = most_checks - orders.checks_left();
  return best;
}

}  // namespace espalier
