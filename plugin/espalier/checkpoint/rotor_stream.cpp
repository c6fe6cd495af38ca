#include "espalier/checkpoint/rotor_stream.h"

#include <algorithm>
#include <utility>

#include "espalier/model/replay_checkpoint.h"

namespace espalier {

RotorStream::RotorStream(std::shared_ptr<const RotorTable> table, Bytes bytes)
    : table_(std::move(table)) {
  const Chain& chain = table_->chain();
  push({0, chain.size() - 1, bytes - chain.state(0), {}});
}

Action RotorStream::reverse_held(std::int64_t step, const Place& held) {
  if (held.is_slot()) --slots_;
  return reverse(step);
}

// x_first is the working state; it is stored, unless it is held.
Action RotorStream::divide(RotorPart part) {
  const std::int64_t first = part.first;
  const Chain& chain = table_->chain();
  Place target;
  if (part.held == Place()) target = part.held = {0, slots_++};
  const std::int64_t j = table_->choice(first, part.last, part.bytes);
  if (j > 0) {
    push({first, j - 1, part.bytes, part.held, true});
    push({j, part.last, part.bytes - chain.state(j), {}});
    return Action::forward(first, j, target);
  }
  push({first, first, part.bytes, part.held, false, true});
  push({first + 1, part.last, part.bytes - chain.stage(first).saved,
        Place{Place::kTape, first}});
  return Action::taped(first, target);
}

Action RotorStream::take(const RotorPart& part) {
  if (part.tape_only) return reverse_held(part.first, part.held);
  const bool single = part.first == part.last;
  if (!part.restore) return single ? reverse(part.first) : divide(part);
  then(single ? reverse_held(part.first, part.held) : divide(part));
  return single && part.held.is_slot() ? Action::move(part.first, part.held)
                                       : Action::copy(part.first, part.held);
}

namespace {

// No schedule at all needs less: x_0, and one backward step.
Bytes least_for_a_step(const Chain& chain) {
  Bytes most = 0;
  for (std::int64_t i = 0; i < chain.size(); ++i) {
    const Stage& stage = chain.stage(i);
    most = std::max(most, (i > 0 ? chain.state(0) : 0) + stage.input + stage.saved +
                              stage.backward_workspace + chain.state(i + 1));
  }
  return most;
}

}  // namespace

Expected<CheckpointSchedule> plan_chain(const std::shared_ptr<const RotorTable>& table,
                                        Bytes bound) {
  const Chain& chain = table->chain();
  const std::vector<BudgetPoint> curve = table->curve();
  if (bound < curve.front().bytes) {
    Infeasible answer;
    answer.bound_bytes = bound;
    answer.least_bytes = curve.front().bytes;
    answer.lower_bound_bytes = std::min(least_for_a_step(chain), answer.least_bytes);
    answer.reason = bound < answer.lower_bound_bytes ? Infeasible::Reason::kImpossible
                                                     : Infeasible::Reason::kNoneFound;
    return tl::make_unexpected(answer);
  }
  const auto after =
      std::ranges::upper_bound(curve, bound, std::less<>(), &BudgetPoint::bytes);
  CheckpointSchedule schedule;
  schedule.steps = chain.size();
  schedule.chain = table->shared_chain();
  schedule.levels = {{"ram", chain.size()}};
  schedule.bound_bytes = bound;
  const Bytes used = std::prev(after)->bytes;
  schedule.actions = [table, used] { return std::make_unique<RotorStream>(table, used); };
  schedule.cost = std::prev(after)->cost;
  for (const Stage& stage : chain.stages())
    schedule.lower_bound += stage.forward + stage.backward;
  schedule.proof = schedule.cost == schedule.lower_bound
                       ? CheckpointProof::kOptimal
                       : CheckpointProof::kOptimalPersistent;
  const CheckpointReplay replay = replay_checkpoint(schedule);
  ESPALIER_ASSERT(replay.cost == schedule.cost, "a schedule costs what its table says");
  ESPALIER_ASSERT(replay.peak_bytes <= used, "a schedule stays inside its budget");
  schedule.levels[0].slots = replay.most_slots[0];
  schedule.advances = replay.advances;
  schedule.use = replay.use;
  schedule.peak_bytes = replay.peak_bytes;
  return schedule;
}

}  // namespace espalier
