#include "espalier/sequential/downsets/dominant_schedule.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "espalier/model/error.h"
#include "espalier/sequential/downsets/downset_lattice.h"

namespace espalier {
namespace {

using Step = DownsetLattice::Step;

// One rung after the other, from one end of the lattice towards the lowest downset.
class Climb {
 public:
  Climb(const DownsetLattice& lattice, bool forwards, DownsetId goal)
      : lattice_(lattice),
        forwards_(forwards),
        goal_(goal),
        least_(lattice.size(), kUnreached),
        by_(lattice.size(), kNoStep) {}

  // The segment from `from` to the next downset, which it returns.
  std::pair<BlockSegment, DownsetId> rung(DownsetId from) {
    const auto [to, hill] = search(from);
    BlockSegment segment;
    for (DownsetId here = to; here != from;) {
      const Step& step = lattice_.step(by_[here]);
      segment.tasks.push_back(step.task);
      here = forwards_ ? step.from : step.to;
    }
    if (forwards_) std::reverse(segment.tasks.begin(), segment.tasks.end());
    const DownsetId first = forwards_ ? from : to, last = forwards_ ? to : from;
    segment.peak = hill - lattice_.level(first);
    segment.net = lattice_.level(last) - lattice_.level(first);
    forget();
    return {std::move(segment), to};
  }

 private:
  static constexpr Bytes kUnreached = std::numeric_limits<Bytes>::max();
  static constexpr DownsetStepId kNoStep{-1};

  // Bottleneck shortest paths, until the threshold exceeds the first that shows a lower
  // level: the lowest downset of those, and the threshold.
  std::pair<DownsetId, Bytes> search(DownsetId from) {
    reach(from, lattice_.level(from), kNoStep);
    std::optional<DownsetId> lowest;
    Bytes threshold = kUnreached;
    while (!open_.empty() && open_.top().first <= threshold) {
      const auto [hill, downset] = open_.top();
      open_.pop();
      if (hill > least_[downset]) continue;
      const bool is_rung =
          downset == goal_ || lattice_.level(downset) < lattice_.level(from);
      if (is_rung && (!lowest || is_better(downset, *lowest))) {
        lowest = downset;
        threshold = hill;
      }
      expand(downset, hill);
    }
    ESPALIER_ASSERT(lowest, "the goal can be reached");
    return {*lowest, threshold};
  }

  [[nodiscard]] bool is_better(DownsetId a, DownsetId b) const {
    if (lattice_.level(a) != lattice_.level(b)) {
      return lattice_.level(a) < lattice_.level(b);
    }
    return a == goal_;
  }

  void expand(DownsetId downset, Bytes hill) {
    if (forwards_) {
      for (const DownsetStepId number : lattice_.up(downset)) {
        const Step& step = lattice_.step(number);
        if (lattice_.is_subset(step.to, goal_)) {
          reach(step.to, std::max(hill, step.hill), number);
        }
      }
    } else {
      for (const DownsetStepId number : lattice_.down(downset)) {
        const Step& step = lattice_.step(number);
        if (lattice_.is_subset(goal_, step.from)) {
          reach(step.from, std::max(hill, step.hill), number);
        }
      }
    }
  }

  void reach(DownsetId downset, Bytes hill, DownsetStepId by) {
    if (hill >= least_[downset]) return;
    least_[downset] = hill;
    by_[downset] = by;
    reached_.push_back(downset);
    open_.emplace(hill, downset);
  }

  void forget() {
    for (const DownsetId downset : reached_) least_[downset] = kUnreached;
    reached_.clear();
    open_ = {};
  }

  const DownsetLattice& lattice_;
  bool forwards_;
  DownsetId goal_;
  IdVector<DownsetId, Bytes> least_;       // least threshold that reaches the downset
  IdVector<DownsetId, DownsetStepId> by_;  // the step that reaches it
  std::vector<DownsetId> reached_;
  std::priority_queue<std::pair<Bytes, DownsetId>,
                      std::vector<std::pair<Bytes, DownsetId>>, std::greater<>>
      open_;
};

std::vector<BlockSegment> climb(const DownsetLattice& lattice, bool forwards,
                                DownsetId from, DownsetId goal) {
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

std::optional<std::vector<BlockSegment>> dominant_schedule(const DownsetBlock& block,
                                                           std::size_t most_downsets) {
  const BlockIndex index(block);
  const auto lattice = DownsetLattice::of(index, most_downsets);
  if (!lattice) return std::nullopt;
  DownsetId lowest = lattice->empty_set();
  for (const DownsetId set : lattice->ids()) {
    if (lattice->level(set) < lattice->level(lowest)) lowest = set;
  }
  auto segments = climb(*lattice, true, lattice->empty_set(), lowest);
  auto rest = climb(*lattice, false, lattice->all_tasks(), lowest);
  std::move(rest.rbegin(), rest.rend(), std::back_inserter(segments));
  return segments;
}

}  // namespace espalier
