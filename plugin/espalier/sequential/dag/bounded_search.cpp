#include "espalier/sequential/dag/bounded_search.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "espalier/sequential/downsets/lowest_downset.h"
#include "espalier/sequential/downsets/visited_downsets.h"

namespace espalier {
namespace {

constexpr Bytes kNone = std::numeric_limits<Bytes>::max();

class Search {
 public:
  Search(const BlockIndex& block, Bytes bound, DownsetWalk::Direction direction,
         const SearchLimits& limits)
      : walk_(block, direction),
        bound_(bound),
        limits_(limits),
        written_(block.size(), 0),
        lowest_(block, [this] { return is_stopped(); }),
        is_passed_(block.size(), false) {}

  BoundedOrder run() {
    BoundedOrder result;
    result.answer = search();
    result.states = states_;
    result.least_bytes = least_blocked_;
    if (result.answer == BoundedOrder::Answer::kFits) {
      result.order = std::move(trail_);
      if (walk_.direction() == DownsetWalk::Direction::kBackwards) {
        std::reverse(result.order.begin(), result.order.end());
      }
    }
    return result;
  }

 private:
  // A downset on the way from the start, with the steps that are still to be tried.
  struct Frame {
    std::size_t trail;    // tasks taken before the step that led to it
    std::size_t entered;  // tasks taken when it was entered
    std::size_t first;  // its steps in choices_: those from `first` on, the last one next
    Bytes level;
    bool had_choice;
  };

  BoundedOrder::Answer search() {
    if (walk_.level() > bound_) {
      least_blocked_ = walk_.level();
      return BoundedOrder::Answer::kImpossible;
    }
    if (!enter(0)) return BoundedOrder::Answer::kFits;
    if (stopped_) return BoundedOrder::Answer::kUnknown;
    while (!frames_.empty()) {
      if (limit_met()) return BoundedOrder::Answer::kUnknown;
      const std::size_t trail = trail_.size();
      if (choices_.size() <= frames_.back().first) {
        leave();
        continue;
      }
      const BlockTaskId task = choices_.back();
      choices_.pop_back();
      take(task);
      if (!enter(trail)) return BoundedOrder::Answer::kFits;
    }
    return BoundedOrder::Answer::kImpossible;
  }

  void take(BlockTaskId task) {
    walk_.run(task);
    trail_.push_back(task);
    const auto now = static_cast<std::int64_t>(trail_.size());
    const auto& block = walk_.block();
    const auto next = walk_.direction() == DownsetWalk::Direction::kForwards
                          ? block.successors(task)
                          : block.predecessors(task);
    for (const BlockTaskId after : next) written_[after] = now;
  }

  void take_back_to(std::size_t trail) {
    while (trail_.size() > trail) {
      walk_.take_back(trail_.back());
      trail_.pop_back();
    }
  }

  // Rule 1, until nothing changes: a step that is allowed stays so.
  void take_what_helps() {
    for (bool again = true; again;) {
      again = false;
      for (std::size_t k = 0; k < walk_.ready().size();) {
        if (++looked_at_ % 1024 == 0 && is_stopped()) return;
        const BlockTaskId task = walk_.ready()[k];
        if (walk_.change(task) <= 0 && walk_.hill(task) <= bound_) {
          take(task);
          again = true;
        } else {
          ++k;
        }
      }
    }
  }

  // Makes a frame of the present downset unless it is known to lead nowhere. False: it is
  // the end.
  bool enter(std::size_t trail) {
    take_what_helps();
    for (std::size_t given_up = open_.size() + 1; open_.size() < given_up;) {
      given_up = open_.size();
      give_up_others();
      take_what_helps();
    }
    if (walk_.at_end()) return false;
    if (stopped_) return true;  // limit_met() tells
    list_steps();
    if (steps_.size() > 1 && known_.contains(sorted_ready())) steps_.clear();
    if (steps_.empty()) {
      take_back_to(trail);
      return true;
    }
    if (steps_.size() > 1) ++states_;
    open_.push_back(frames_.size());
    frames_.push_back(
        {trail, trail_.size(), choices_.size(), walk_.level(), steps_.size() > 1});
    for (const Choice& step : steps_) choices_.push_back(std::get<2>(step));
    return true;
  }

  // Rule 2. The frames that still have steps have strictly rising levels: `open_`.
  void give_up_others() {
    std::size_t start = kNowhere;  // tasks taken when the first of those was entered
    while (!open_.empty() && frames_[open_.back()].level >= walk_.level()) {
      const Frame& frame = frames_[open_.back()];
      choices_.resize(frame.first);
      start = frame.entered;
      open_.pop_back();
    }
    if (start != kNowhere) go_to_lowest(start);
  }

  // From the present downset to the lowest one between it and that of `start`.
  void go_to_lowest(std::size_t start) {
    passed_.assign(trail_.begin() + static_cast<std::ptrdiff_t>(start), trail_.end());
    const bool forwards = walk_.direction() == DownsetWalk::Direction::kForwards;
    for (const BlockTaskId task : passed_) is_passed_[task] = true;
    std::vector<BlockTaskId> inside = lowest_.between(
        {passed_, [&](BlockDatumId datum) { return unread_above(datum); }}, forwards);
    for (const BlockTaskId task : passed_) is_passed_[task] = false;
    const std::size_t stays = forwards ? inside.size() : passed_.size() - inside.size();
    if (stays == passed_.size()) return;
    take_back_to(start);
    for (const BlockTaskId task : inside) is_passed_[task] = true;
    for (const BlockTaskId task : passed_) {
      if (is_passed_[task] == forwards) take(task);
    }
    for (const BlockTaskId task : inside) is_passed_[task] = false;
  }

  // Readers of the datum that have not run at the upper end of what was passed.
  [[nodiscard]] std::int32_t unread_above(BlockDatumId datum) const {
    std::int32_t unread = walk_.unread(datum);
    if (walk_.direction() == DownsetWalk::Direction::kForwards) return unread;
    for (const BlockTaskId reader : walk_.block().readers(datum)) {
      if (is_passed_[reader]) --unread;
    }
    return unread;
  }

  // The steps that fit, the best one last.
  void list_steps() {
    steps_.clear();
    for (const BlockTaskId task : walk_.ready()) {
      const Bytes hill = walk_.hill(task);
      if (hill > bound_) {
        least_blocked_ = std::min(least_blocked_, hill);
      } else {
        steps_.emplace_back(-walk_.change(task), written_[task], task);
      }
    }
    std::sort(steps_.begin(), steps_.end());
  }

  // All ways on from the last frame have been tried.
  void leave() {
    // The downset of the frame is the present one.
    if (frames_.back().had_choice) known_.add(sorted_ready());
    take_back_to(frames_.back().trail);
    frames_.pop_back();
    if (!open_.empty() && open_.back() == frames_.size()) open_.pop_back();
  }

  std::span<const BlockTaskId> sorted_ready() {
    ready_.assign(walk_.ready().begin(), walk_.ready().end());
    std::sort(ready_.begin(), ready_.end());
    return ready_;
  }

  bool limit_met() {
    if (stopped_ || states_ > limits_.states) return true;
    if (++asked_ % 16 != 0) return false;
    return known_.bytes() > limits_.bytes || is_stopped();
  }

  bool is_stopped() {
    if (!stopped_ && limits_.stop) stopped_ = limits_.stop();
    return stopped_;
  }

  static constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();
  using Choice = std::tuple<Bytes, std::int64_t, BlockTaskId>;

  DownsetWalk walk_;
  Bytes bound_;
  const SearchLimits& limits_;
  IdVector<BlockTaskId, std::int64_t> written_;  // when its last input came
  std::vector<BlockTaskId> trail_;  // tasks in the order in which they were taken
  LowestDownset lowest_;
  std::vector<BlockTaskId> passed_;
  IdVector<BlockTaskId, bool> is_passed_;
  std::vector<Frame> frames_;
  std::vector<std::size_t> open_;  // frames with steps to be tried, if not all are spent
  std::vector<BlockTaskId> choices_;
  std::vector<Choice> steps_;
  std::vector<BlockTaskId> ready_;
  VisitedDownsets known_;
  Bytes least_blocked_ = kNone;
  std::int64_t states_ = 0, asked_ = 0, looked_at_ = 0;
  bool stopped_ = false;
};

}  // namespace

BoundedOrder bounded_search(const BlockIndex& block, Bytes bound,
                            DownsetWalk::Direction direction,
                            const SearchLimits& limits) {
  return Search(block, bound, direction, limits).run();
}

}  // namespace espalier
