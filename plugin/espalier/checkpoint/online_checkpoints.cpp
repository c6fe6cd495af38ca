#include "espalier/checkpoint/online_checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "espalier/checkpoint/split_search.h"
#include "espalier/model/numbers.h"

namespace espalier {
namespace {

// t of a part of so many states; none: nothing.
std::int64_t t(std::int64_t states, std::int64_t slots) {
  return states <= 1 ? 0 : revolve_cost(states, slots);
}

// The period of least (w + r + D1(m-1)) / m. Costs a step grow without end once memory is
// short, so a good while after the least there is no other.
std::int64_t best_period(const CheckpointLevel& memory, const CheckpointLevel& disk,
                         const StepCosts& costs) {
  constexpr std::int64_t kMost = 1 << 20;
  HullRow below(1024), again(1024);
  SplitSearch search(costs.forward, disk.read);
  std::int64_t best = 1;
  double least = static_cast<double>(disk.write + disk.read);
  for (std::int64_t m = 1; m <= std::min(kMost, 8 * best + 256); ++m) {
    below.append(t(m, memory.slots) * costs.forward);
    const Nanoseconds value =
        m == 1 ? 0 : search.least(m - 1, below.value(at(m - 1)), below, again).value;
    again.append(value);
    const double a_step =
        static_cast<double>(disk.write + disk.read + value) / static_cast<double>(m);
    if (a_step >= least) continue;
    least = a_step;
    best = m;
  }
  return best;
}

}  // namespace

OnlineRevolve::OnlineRevolve(std::int64_t slots) : slots_(slots) {
  if (slots < 1) throw InvalidInput(fmt::format("{} is not 1 slot or more", slots));
}

// Which p_a is given up for the working state x_i; none: it is not stored.
std::optional<std::size_t> OnlineRevolve::given_up() const {
  const auto gap = [this](std::size_t a) {
    return (a + 1 < stored_.size() ? stored_[a + 1] : position_) - stored_[a];
  };
  const auto slots_at = [this](std::size_t a) {
    return slots_ - static_cast<std::int64_t>(a);
  };
  const std::size_t last = stored_.size() - 1;
  std::int64_t leave = t(position_ + 1 - stored_[last], slots_at(last)), after = 0;
  for (std::size_t a = 0; a < last; ++a) leave += t(gap(a), slots_at(a));
  for (std::size_t a = 1; a <= last; ++a) after += t(gap(a), slots_at(a) + 1);
  std::int64_t before = 0;  // of the gaps that end before p_{a-1}
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::optional<std::size_t> choice;
  for (std::size_t a = 1; a <= last; ++a) {
    after -= t(gap(a), slots_at(a) + 1);
    const std::int64_t cost = before + t(gap(a - 1) + gap(a), slots_at(a) + 1) + after;
    before += t(gap(a - 1), slots_at(a - 1));
    if (cost >= least) continue;
    least = cost;
    choice = a;
  }
  return least <= leave ? choice : std::nullopt;
}

Action OnlineRevolve::sweep() {
  const std::int64_t i = position_;
  Place target;
  if (static_cast<std::int64_t>(stored_.size()) < slots_) {
    slot_of_.push_back(static_cast<std::int64_t>(stored_.size()));
    stored_.push_back(i);
    target = {0, slot_of_.back()};
  } else if (const auto a = given_up()) {
    const std::int64_t slot = slot_of_[*a];
    stored_.erase(stored_.begin() + static_cast<std::ptrdiff_t>(*a));
    slot_of_.erase(slot_of_.begin() + static_cast<std::ptrdiff_t>(*a));
    stored_.push_back(i);
    slot_of_.push_back(slot);
    target = {0, slot};
  }
  ++position_;
  return Action::forward(i, i + 1, target);
}

std::optional<Action> OnlineRevolve::next() {
  if (!finished_) return sweep();
  if (!std::exchange(turned_, true)) {
    end_ = position_ - 1;
    while (std::ssize(slot_of_) < std::min(slots_, position_ + 1))
      slot_of_.push_back(std::ssize(slot_of_));
    return Action::end_forward(position_);
  }
  if (!std::exchange(reversed_, true)) return Action::reverse(position_);
  while (part_ || !stored_.empty()) {
    if (!part_) {
      const auto a = static_cast<std::int64_t>(stored_.size()) - 1;
      part_.emplace(
          RevolvePart{stored_.back(), end_ - stored_.back() + 1, slots_ - a, true});
    }
    while (auto action = part_->next()) {
      if (action->kind == ActionKind::kEndForward) continue;
      if (action->kind == ActionKind::kEndReverse) break;
      for (Place* place : {&action->source, &action->target}) {
        if (place->is_slot())
          place->slot = slot_of_[at(place->slot) + stored_.size() - 1];
      }
      return action;
    }
    part_.reset();
    end_ = stored_.back() - 1;
    stored_.pop_back();
  }
  if (std::exchange(ended_, true)) return std::nullopt;
  return Action::end_reverse();
}

PeriodicDiskRevolve::PeriodicDiskRevolve(const CheckpointLevel& memory,
                                         const CheckpointLevel& disk,
                                         const StepCosts& costs)
    : slots_(memory.slots) {
  if (memory.slots < 1 || memory.write != 0 || memory.read != 0 ||
      !costs.forwards.empty() || costs.forward < 1) {
    throw InvalidInput(
        "a periodic schedule needs slots in memory without costs, and steps that take "
        "time, all the same");
  }
  const std::int64_t period = best_period(memory, disk, costs);
  CheckpointLevel endless = disk;
  endless.slots = period;
  tables_ = std::make_shared<const HierarchyTables>(
      period, std::vector<CheckpointLevel>{memory, endless}, costs);
}

Action PeriodicDiskRevolve::sweep() {
  const std::int64_t period = tables_->steps(), i = position_++;
  if (i % period == 0) {
    first_ = i;
    memory_.emplace(slots_);
    return Action::forward(i, i + 1, {1, i / period});
  }
  const Action action = *memory_->next();
  if (action.target.is_slot()) {
    const std::size_t slot = at(action.target.slot);
    if (slot >= memory_step_.size()) memory_step_.resize(slot + 1);
    memory_step_[slot] = i;
  }
  return Action::forward(i, i + 1, action.target);
}

// All of it but its first state, from memory; before that slots of other periods are
// emptied. They come after those of this one.
std::optional<Action> PeriodicDiskRevolve::reverse_last_period() {
  if (!memory_step_.empty() && memory_step_.back() < first_) {
    const std::int64_t step = memory_step_.back();
    memory_step_.pop_back();
    return Action::move(step, {0, std::ssize(memory_step_)});
  }
  while (auto action = memory_->next()) {
    action->first += first_ + 1;
    action->last += first_ + 1;
    if (action->kind == ActionKind::kEndForward || action->first == position_) continue;
    if (action->kind != ActionKind::kEndReverse) return action;
  }
  memory_.reset();
  end_ = first_;
  return std::nullopt;
}

std::optional<Action> PeriodicDiskRevolve::next() {
  const std::int64_t period = tables_->steps();
  if (!finished_) return sweep();
  if (!std::exchange(turned_, true)) {
    end_ = position_ - 1;
    if (memory_) memory_->finish();
    return Action::end_forward(position_);
  }
  if (!std::exchange(reversed_, true)) return Action::reverse(position_);
  if (memory_) {
    if (const auto action = reverse_last_period()) return action;
  }
  while (part_ || end_ >= 0) {
    if (!part_) {
      first_ = end_ / period * period;
      part_ = std::make_unique<HierarchyStream>(tables_, end_ - first_ + 1);
      end_ = first_ - 1;
    }
    while (auto action = part_->next()) {
      if (action->kind == ActionKind::kEndForward) continue;
      if (action->kind == ActionKind::kEndReverse) break;
      action->first += first_;
      action->last += first_;
      if (action->source.level == 1) action->source.slot = first_ / period;
      return action;
    }
    part_.reset();
  }
  if (std::exchange(ended_, true)) return std::nullopt;
  return Action::end_reverse();
}

}  // namespace espalier
