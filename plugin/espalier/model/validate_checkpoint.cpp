#include "espalier/model/validate_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "espalier/model/violations.h"

namespace espalier {
namespace {

class Checker {
 public:
  explicit Checker(const CheckpointSchedule& schedule)
      : plan_(schedule),
        use_(schedule.levels.size()),
        runs_(static_cast<std::size_t>(schedule.steps) + 1, 0),
        next_reverse_(schedule.steps - 1) {}

  Violations check(ActionStream& actions) {
    while (const std::optional<Action> action = actions.next()) {
      ++number_;
      if (finished_) say(*action, "comes after the end");
      step(*action);
      if (wrong_.size() >= kMostViolations) return wrong_;
    }
    if (!finished_) wrong_.push_back("the actions stop before EndReverse");
    if (wrong_.empty()) compare_figures();
    return wrong_;
  }

 private:
  using SlotKey = std::pair<std::int32_t, std::int64_t>;

  void say(const Action& action, const std::string& what) {
    complain(wrong_, fmt::format("action {} ({} {}): {}", number_, name(action.kind),
                                 action.first, what));
  }

  void step(const Action& action) {
    switch (action.kind) {
      case ActionKind::kForward:
        return check_forward(action);
      case ActionKind::kCopy:
      case ActionKind::kMove:
        return check_restore(action);
      case ActionKind::kReverse:
        return check_reverse(action);
      case ActionKind::kEndForward:
        if (end_forward_) say(action, "comes a second time");
        end_forward_ = true;
        return;
      case ActionKind::kEndReverse:
        finished_ = true;
        if (next_reverse_ >= 0)
          say(action, fmt::format("steps 0 to {} are not reversed", next_reverse_));
        if (!slots_.empty() || !tapes_.empty()) say(action, "something is still held");
    }
  }

  void check_forward(const Action& action) {
    if (working_ != action.first) say(action, "the working state is another one");
    if (action.first < 0 || action.last <= action.first ||
        action.last > next_reverse_ + 1 || (action.keeps_tape && !sized())) {
      return say(action, fmt::format("runs to step {}", action.last));
    }
    if (action.target.is_slot()) check_store(action);
    ++runs_[static_cast<std::size_t>(action.first)];
    --runs_[static_cast<std::size_t>(action.last)];
    if (sized()) {
      for (std::int64_t i = action.first; i < action.last; ++i) {
        working_ = i;
        const Stage& stage = plan_.chain->stage(i);
        const Bytes made = action.keeps_tape ? stage.saved : plan_.chain->state(i + 1);
        note(action, made + stage.forward_workspace);
        if (action.keeps_tape) tapes_.insert(i);
      }
    }
    working_ = action.last;
  }

  void check_store(const Action& action) {
    const Place place = action.target;
    if (place.level >= static_cast<std::int32_t>(plan_.levels.size()))
      return say(action, fmt::format("there is no level {}", place.level));
    const auto level = static_cast<std::size_t>(place.level);
    if (place.slot < 0 || place.slot >= plan_.levels[level].slots)
      return say(action, fmt::format("level {} has no slot {}", place.level, place.slot));
    slots_[{place.level, place.slot}] = action.first;
    if (!plan_.starts_stored || stores_++ > 0) ++use_[level].writes;
  }

  void check_restore(const Action& action) {
    if (action.source.level == Place::kTape) {
      if (!tapes_.contains(action.first - 1) || action.source.slot != action.first - 1 ||
          action.kind == ActionKind::kMove)
        say(action, "the tape of the step before is not held");
      working_ = action.first;
      return;
    }
    const auto slot = slots_.find({action.source.level, action.source.slot});
    if (slot == slots_.end() || slot->second != action.first)
      return say(action, fmt::format("slot {} of level {} does not hold that state",
                                     action.source.slot, action.source.level));
    working_ = action.first;
    ++use_[static_cast<std::size_t>(action.source.level)].reads;
    if (action.kind == ActionKind::kMove) slots_.erase(slot);
  }

  void check_reverse(const Action& action) {
    if (!end_forward_) say(action, "comes before EndForward");
    if (action.first != next_reverse_ || action.last != next_reverse_ + 1)
      say(action, fmt::format("step {} is to be reversed", next_reverse_));
    if (action.first < 0 || action.first >= plan_.steps) return;
    if (tapes_.contains(action.first)) {
      reverse_from_tape(action);
    } else {
      if (working_ != action.first) say(action, "the working state is another one");
      if (sized()) {
        const Stage& stage = plan_.chain->stage(action.first);
        note(action,
             stage.saved + std::max(stage.forward_workspace, stage.backward_workspace));
        inside_ += stage.forward;
      }
    }
    next_reverse_ = action.first - 1;
    working_.reset();
  }

  void reverse_from_tape(const Action& action) {
    if (!present(action.first)) say(action, "the input of the step is gone");
    note(action, plan_.chain->stage(action.first).backward_workspace);
    tapes_.erase(action.first);
    std::erase_if(slots_, [&](const auto& slot) { return slot.second == action.first; });
  }

  [[nodiscard]] bool sized() const { return plan_.chain != nullptr; }
  [[nodiscard]] bool present(std::int64_t state) const {
    return tapes_.contains(state - 1) ||
           std::ranges::any_of(slots_, [&](const auto& s) { return s.second == state; });
  }

  // All that is in memory now, and `more`.
  void note(const Action& action, Bytes more) {
    Bytes bytes = more + plan_.chain->state(next_reverse_ + 1);
    std::set<std::int64_t> states;
    for (const auto& [place, state] : slots_) states.insert(state);
    if (working_) states.insert(*working_);
    for (const std::int64_t tape : tapes_) {
      bytes += plan_.chain->stage(tape).saved;
      states.erase(tape + 1);
    }
    for (const std::int64_t state : states) bytes += plan_.chain->state(state);
    peak_ = std::max(peak_, bytes);
    if (bytes > plan_.bound_bytes)
      say(action, fmt::format("{} bytes are more than {}", bytes, plan_.bound_bytes));
  }

  void compare(const char* what, std::int64_t says, std::int64_t is) {
    if (says != is)
      complain(wrong_, fmt::format("{} is {}, the schedule says {}", what, is, says));
  }

  void compare_figures() {
    std::int64_t advances = 0, times = 0;
    Nanoseconds cost = inside_;
    for (std::int64_t i = 0; i < plan_.steps; ++i) {
      times += runs_[static_cast<std::size_t>(i)];
      advances += times;
      cost +=
          times * (sized() ? plan_.chain->stage(i).forward : plan_.costs.forward_of(i));
      cost += sized() ? plan_.chain->stage(i).backward : plan_.costs.backward;
    }
    for (std::size_t k = 0; k < use_.size(); ++k) {
      cost +=
          use_[k].writes * plan_.levels[k].write + use_[k].reads * plan_.levels[k].read;
      compare("writes of a level", plan_.use[k].writes, use_[k].writes);
      compare("reads of a level", plan_.use[k].reads, use_[k].reads);
    }
    compare("the number of forward steps", plan_.advances, advances);
    compare("the cost", plan_.cost, cost);
    if (sized()) compare("the peak", plan_.peak_bytes, peak_);
    if (plan_.lower_bound > plan_.cost)
      wrong_.push_back("the cost is below its lower bound");
    if (plan_.proof == CheckpointProof::kOptimal && plan_.lower_bound != plan_.cost)
      wrong_.push_back("the cost of an optimum is above its lower bound");
  }

  const CheckpointSchedule& plan_;
  Violations wrong_;
  std::map<SlotKey, std::int64_t> slots_;
  std::set<std::int64_t> tapes_;
  std::vector<LevelUse> use_;
  std::vector<std::int64_t> runs_;  // differences: + where a run starts, - where it ends
  std::optional<std::int64_t> working_ = 0;
  std::int64_t next_reverse_, number_ = 0, stores_ = 0;
  Nanoseconds inside_ = 0;  // forward steps inside a Reverse
  Bytes peak_ = 0;
  bool end_forward_ = false, finished_ = false;
};

bool belongs_together(const CheckpointSchedule& schedule) {
  return schedule.steps >= 1 && schedule.use.size() == schedule.levels.size() &&
         (!schedule.chain || schedule.chain->size() == schedule.steps);
}

}  // namespace

Violations validate_checkpoint(const CheckpointSchedule& schedule,
                               ActionStream& actions) {
  if (!belongs_together(schedule))
    return {"the parts of the schedule do not belong together"};
  return Checker(schedule).check(actions);
}

Violations validate_checkpoint(const CheckpointSchedule& schedule) {
  if (!belongs_together(schedule))
    return {"the parts of the schedule do not belong together"};
  const auto actions = schedule.actions();
  return validate_checkpoint(schedule, *actions);
}

}  // namespace espalier
