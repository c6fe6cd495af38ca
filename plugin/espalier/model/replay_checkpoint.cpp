#include "espalier/model/replay_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/model/error.h"
#include "espalier/model/numbers.h"

namespace espalier {
namespace {}  // namespace

CheckpointReplayer::CheckpointReplayer(const CheckpointSchedule& schedule)
    : schedule_(schedule),
      chain_(schedule.chain.get()),
      held_(schedule.levels.size()),
      slots_(schedule.levels.size(), 0),
      adjoint_(schedule.steps) {
  result_.use.resize(schedule.levels.size());
  result_.most_slots.resize(schedule.levels.size(), 0);
  if (chain_ == nullptr) return;
  times_held_.resize(at(schedule.steps) + 1, 0);
  taped_.resize(at(schedule.steps), false);
}

void CheckpointReplayer::refuse(const Action& action, const char* why) const {
  throw InvalidInput(fmt::format(
      "action {}, {} of steps {} to {}, slot {} of level {}: {}", result_.actions,
      name(action.kind), action.first, action.last,
      action.source.is_slot() ? action.source.slot : action.target.slot,
      action.source.is_slot() ? action.source.level : action.target.level, why));
}

// A state is held once more or once less by a slot; its bytes count once, and not beside
// a tape whose output it is.
void CheckpointReplayer::hold(std::int64_t step, int by) {
  if (chain_ == nullptr) return;
  std::int32_t& times = times_held_[at(step)];
  const bool before = times > 0;
  times += by;
  const bool in_tape = step > 0 && taped_[at(step) - 1];
  if (before != (times > 0) && !in_tape)
    held_bytes_ += by > 0 ? chain_->state(step) : -chain_->state(step);
}

Bytes CheckpointReplayer::working_bytes() const {
  if (chain_ == nullptr || !has_working_) return 0;
  const bool in_tape = working_ > 0 && taped_[at(working_) - 1];
  return in_tape || times_held_[at(working_)] > 0 ? 0 : chain_->state(working_);
}

void CheckpointReplayer::free_slot(std::size_t level, std::int64_t slot) {
  const auto held = held_[level].find(slot);
  const std::int64_t step = held->second;
  held_[level].erase(held);
  --slots_[level];
  hold(step, -1);
}

void CheckpointReplayer::store(const Action& action) {
  const auto [level, slot] = action.target;
  if (at(level) >= held_.size()) refuse(action, "there is no such level");
  if (slot < 0 || slot >= schedule_.levels[at(level)].slots)
    refuse(action, "there is no such slot");
  if (held_[at(level)].contains(slot)) free_slot(at(level), slot);
  held_[at(level)][slot] = action.first;
  ++slots_[at(level)];
  result_.most_slots[at(level)] =
      std::max(result_.most_slots[at(level)], slots_[at(level)]);
  hold(action.first, 1);
  if (schedule_.starts_stored && !started_) {
    started_ = true;
    return;
  }
  ++result_.use[at(level)].writes;
  result_.cost = checked_add(result_.cost, schedule_.levels[at(level)].write);
}

void CheckpointReplayer::run_step(std::int64_t step, bool keeps_tape) {
  if (chain_ != nullptr) {
    const Stage& stage = chain_->stage(step);
    const Bytes made = keeps_tape ? stage.saved : chain_->state(step + 1);
    count(held_bytes_ + working_bytes() + chain_->state(adjoint_) + made +
          stage.forward_workspace);
  }
  working_ = step + 1;
  if (chain_ == nullptr || !keeps_tape) return;
  if (times_held_[at(step) + 1] > 0) held_bytes_ -= chain_->state(step + 1);
  taped_[at(step)] = true;
  held_bytes_ += chain_->stage(step).saved;
}

void CheckpointReplayer::forward(const Action& action) {
  if (!has_working_ || action.first != working_) refuse(action, "the state is not there");
  if (action.last <= action.first || action.last > adjoint_ ||
      (action.keeps_tape && action.last != action.first + 1))
    refuse(action, "no such range of steps");
  if (action.target.is_slot()) store(action);
  const std::int64_t count = action.last - action.first;
  result_.advances += count;
  result_.recomputed += std::clamp<std::int64_t>(reached_ - action.first, 0, count);
  reached_ = std::max(reached_, action.last);
  if (chain_ == nullptr && schedule_.costs.forwards.empty()) {
    result_.cost = checked_add(result_.cost, checked_mul(count, schedule_.costs.forward));
    working_ = action.last;
    return;
  }
  for (std::int64_t i = action.first; i < action.last; ++i) {
    result_.cost =
        checked_add(result_.cost, chain_ == nullptr ? schedule_.costs.forward_of(i)
                                                    : chain_->stage(i).forward);
    run_step(i, action.keeps_tape);
  }
}

void CheckpointReplayer::restore(const Action& action) {
  const auto [level, slot] = action.source;
  if (level == Place::kTape) {
    if (action.kind == ActionKind::kMove || slot != action.first - 1 || slot < 0 ||
        chain_ == nullptr || !taped_[at(slot)])
      refuse(action, "the tape is not held");
    working_ = action.first;
    has_working_ = true;
    return;
  }
  if (level < 0 || at(level) >= held_.size()) refuse(action, "there is no such level");
  const auto held = held_[at(level)].find(slot);
  if (held == held_[at(level)].end()) refuse(action, "the slot is empty");
  if (held->second != action.first) refuse(action, "the slot holds another state");
  working_ = action.first;
  has_working_ = true;
  if (action.kind == ActionKind::kMove) free_slot(at(level), slot);
  ++result_.use[at(level)].reads;
  result_.cost = checked_add(result_.cost, schedule_.levels[at(level)].read);
}

void CheckpointReplayer::drop_slot_of(std::int64_t step) {
  for (std::size_t level = 0; level < held_.size(); ++level) {
    for (const auto& [slot, held] : held_[level]) {
      if (held != step) continue;
      free_slot(level, slot);
      return;
    }
  }
}

void CheckpointReplayer::reverse(const Action& action) {
  const std::int64_t step = action.first;
  if (!turned_) refuse(action, "before EndForward");
  if (action.last != adjoint_ || step != adjoint_ - 1)
    refuse(action, "the adjoint is not there");
  const bool taped = chain_ != nullptr && taped_[at(step)];
  if (!taped && (!has_working_ || working_ != step))
    refuse(action, "the state is not there");
  if (taped && times_held_[at(step)] == 0 && (step == 0 || !taped_[at(step) - 1]))
    refuse(action, "the input of the step is gone");
  if (chain_ == nullptr) {
    result_.cost = checked_add(result_.cost, schedule_.costs.backward);
  } else {
    const Stage& stage = chain_->stage(step);
    result_.cost =
        checked_add(result_.cost, stage.backward + (taped ? 0 : stage.forward));
    const Bytes made =
        taped ? stage.backward_workspace
              : stage.saved + std::max(stage.forward_workspace, stage.backward_workspace);
    count(held_bytes_ + working_bytes() + chain_->state(adjoint_) + made);
  }
  has_working_ = false;
  --adjoint_;
  if (!taped) return;
  taped_[at(step)] = false;
  held_bytes_ -= chain_->stage(step).saved;
  if (times_held_[at(step) + 1] > 0) held_bytes_ += chain_->state(step + 1);
  if (times_held_[at(step)] > 0) drop_slot_of(step);
}

CheckpointMoment CheckpointReplayer::take(const Action& action) {
  if (ended_) refuse(action, "after the end");
  CheckpointMoment moment{action, result_.cost, 0, &slots_};
  during_ = 0;
  switch (action.kind) {
    case ActionKind::kForward:
      forward(action);
      break;
    case ActionKind::kCopy:
    case ActionKind::kMove:
      restore(action);
      break;
    case ActionKind::kReverse:
      reverse(action);
      break;
    case ActionKind::kEndForward:
      turned_ = true;
      break;
    case ActionKind::kEndReverse:
      ended_ = true;
      if (adjoint_ != 0) refuse(action, "steps are left");
      break;
  }
  ++result_.actions;
  moment.end = result_.cost;
  if (chain_ != nullptr) {
    moment.after_bytes = held_bytes_ + working_bytes() + chain_->state(adjoint_);
    moment.during_bytes = std::max(during_, moment.after_bytes);
    result_.peak_bytes = std::max(result_.peak_bytes, moment.during_bytes);
  }
  return moment;
}

CheckpointReplay replay_checkpoint(
    const CheckpointSchedule& schedule,
    const std::function<void(const CheckpointMoment&)>& watch) {
  CheckpointReplayer replayer(schedule);
  const auto stream = schedule.actions();
  while (const std::optional<Action> action = stream->next()) {
    const CheckpointMoment moment = replayer.take(*action);
    if (watch) watch(moment);
  }
  if (!replayer.ended()) throw InvalidInput("the schedule has no end");
  return replayer.result();
}

}  // namespace espalier
