#include "espalier/sequential/downsets/dominant_schedule.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "espalier/sequential/downsets/downset_lattice.h"

namespace espalier {
namespace {

using Step = DownsetLattice::Step;

// One rung after the other, from one end of the lattice towards the lowest downset.
class Climb {
 public:
  Climb(const DownsetLattice& lattice, bool forwards, std::int32_t goal)
      : lattice_(lattice),
        forwards_(forwards),
        goal_(goal),
        least_(lattice.size(), kUnreached),
        by_(lattice.size(), -1) {}

  // The segment from `from` to the next downset, which it returns.
  std::pair<BlockSegment, std::int32_t> rung(std::int32_t from) {
    const auto [to, hill] = search(from);
    BlockSegment segment;
    for (std::int32_t at_ = to; at_ != from;) {
      const Step& step = lattice_.step(by_[at(at_)]);
      segment.tasks.push_back(step.task);
      at_ = forwards_ ? step.from : step.to;
    }
    if (forwards_) std::reverse(segment.tasks.begin(), segment.tasks.end());
    const std::int32_t first = forwards_ ? from : to, last = forwards_ ? to : from;
    segment.peak = hill - lattice_.level(first);
    segment.net = lattice_.level(last) - lattice_.level(first);
    forget();
    return {std::move(segment), to};
  }

 private:
  static constexpr Bytes kUnreached = std::numeric_limits<Bytes>::max();
  static std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }

  // Bottleneck shortest paths, until the threshold exceeds the first that shows a lower
  // level: the lowest downset of those, and the threshold.
  std::pair<std::int32_t, Bytes> search(std::int32_t from) {
    reach(from, lattice_.level(from), -1);
    std::int32_t lowest = -1;
    Bytes threshold = kUnreached;
    while (!open_.empty() && open_.top().first <= threshold) {
      const auto [hill, downset] = open_.top();
      open_.pop();
      if (hill > least_[at(downset)]) continue;
      const bool is_rung =
          downset == goal_ || lattice_.level(downset) < lattice_.level(from);
      if (is_rung && (lowest < 0 || is_better(downset, lowest))) {
        lowest = downset;
        threshold = hill;
      }
      expand(downset, hill);
    }
    return {lowest, threshold};
  }

  [[nodiscard]] bool is_better(std::int32_t a, std::int32_t b) const {
    if (lattice_.level(a) != lattice_.level(b)) {
      return lattice_.level(a) < lattice_.level(b);
    }
    return a == goal_;
  }

  void expand(std::int32_t downset, Bytes hill) {
    if (forwards_) {
      for (const Step& step : lattice_.up(downset)) {
        const auto number = static_cast<std::int32_t>(&step - &lattice_.step(0));
        if (lattice_.is_subset(step.to, goal_)) {
          reach(step.to, std::max(hill, step.hill), number);
        }
      }
    } else {
      for (const std::int32_t number : lattice_.down(downset)) {
        const Step& step = lattice_.step(number);
        if (lattice_.is_subset(goal_, step.from)) {
          reach(step.from, std::max(hill, step.hill), number);
        }
      }
    }
  }

  void reach(std::int32_t downset, Bytes hill, std::int32_t by) {
    if (hill >= least_[at(downset)]) return;
    least_[at(downset)] = hill;
    by_[at(downset)] = by;
    reached_.push_back(downset);
    open_.emplace(hill, downset);
  }

  void forget() {
    for (const std::int32_t downset : reached_) least_[at(downset)] = kUnreached;
    reached_.clear();
    open_ = {};
  }

  const DownsetLattice& lattice_;
  bool forwards_;
  std::int32_t goal_;
  std::vector<Bytes> least_;      // least threshold that reaches the downset
  std::vector<std::int32_t> by_;  // the step that reaches it
  std::vector<std::int32_t> reached_;
  std::priority_queue<std::pair<Bytes, std::int32_t>,
                      std::vector<std::pair<Bytes, std::int32_t>>, std::greater<>>
      open_;
};

std::vector<BlockSegment> climb(const DownsetLattice& lattice, bool forwards,
                                std::int32_t from, std::int32_t goal) {
  std::vector<BlockSegment> segments;
  Climb path(lattice, forwards, goal);
  while (from != goal) {
    auto [segment, to] = path.rung(from);
    segments.push_back(std::move(segment));
    from = to;
  }
  return segments;
}

}  // namespace

std::optional<std::vector<BlockSegment>> dominant_schedule(const Block& block,
                                                           std::size_t most_downsets) {
  const BlockIndex index(block);
  const auto lattice = DownsetLattice::of(index, most_downsets);
  if (!lattice) return std::nullopt;
  std::int32_t lowest = lattice->empty_set();
  for (std::int32_t set = 0; set <= lattice->all_tasks(); ++set) {
    if (lattice->level(set) < lattice->level(lowest)) lowest = set;
  }
  auto segments = climb(*lattice, true, lattice->empty_set(), lowest);
  auto rest = climb(*lattice, false, lattice->all_tasks(), lowest);
  std::move(rest.rbegin(), rest.rend(), std::back_inserter(segments));
  return segments;
}

}  // namespace espalier
