// An online rule on a chain of known length: what it costs beside the optimum.

#include <utility>

#include "espalier/checkpoint/online_checkpoints.h"
#include "espalier/model/replay_checkpoint.h"

namespace espalier {
namespace {

// Says that the sweep is over when it is.
class Finished final : public ActionStream {
 public:
  Finished(std::unique_ptr<OnlineSweep> sweep, std::int64_t steps)
      : sweep_(std::move(sweep)), left_(steps - 1) {}
  std::optional<Action> next() override {
    if (left_ == 0) sweep_->finish();
    --left_;
    return sweep_->next();
  }

 private:
  std::unique_ptr<OnlineSweep> sweep_;
  std::int64_t left_;
};

// Says how far it is: half of it is the sweep, half are the steps that were reversed.
class Watched final : public ActionStream {
 public:
  Watched(std::unique_ptr<ActionStream> actions, std::int64_t steps,
          const CheckpointProgress& progress)
      : actions_(std::move(actions)), steps_(steps), progress_(progress) {}
  std::optional<Action> next() override {
    const std::optional<Action> action = actions_->next();
    if (!action) return action;
    constexpr std::int64_t kStride = 4096;
    turned_ |= action->kind == ActionKind::kEndForward;
    const bool forward = action->kind == ActionKind::kForward && !turned_;
    done_ += forward ? action->last - action->first
                     : std::int64_t{action->kind == ActionKind::kReverse};
    if (progress_ && ++actions_seen_ % kStride == 0)
      progress_(0.5 * static_cast<double>(done_) / static_cast<double>(steps_));
    return action;
  }

 private:
  std::unique_ptr<ActionStream> actions_;
  std::int64_t steps_, done_ = 0, actions_seen_ = 0;
  bool turned_ = false;
  const CheckpointProgress& progress_;
};

CheckpointReplay replay_watched(CheckpointSchedule schedule,
                                const CheckpointProgress& progress) {
  schedule.actions = [actions = schedule.actions, steps = schedule.steps, &progress] {
    return std::make_unique<Watched>(actions(), steps, progress);
  };
  return replay_checkpoint(schedule);
}

}  // namespace

ExpectedSlots<CheckpointSchedule> plan_online(std::int64_t steps,
                                              const std::vector<CheckpointLevel>& levels,
                                              const StepCosts& costs,
                                              const CheckpointProgress& progress) {
  if (levels.size() > 2 || (levels.size() == 1 && (levels[0].write | levels[0].read)) ||
      !costs.forwards.empty()) {
    throw InvalidInput(
        "an online schedule is for memory without costs, alone or with a disk, and "
        "steps of equal cost");
  }
  std::vector<CheckpointLevel> known = levels;
  if (levels.size() == 2) known[1].slots = steps;  // a disk has no end
  auto offline = plan_checkpoints(steps, known, costs, progress);
  if (!offline) return offline;
  CheckpointSchedule schedule = *offline;
  if (levels.size() == 1) {
    schedule.actions = [steps, slots = levels[0].slots] {
      return std::make_unique<Finished>(std::make_unique<OnlineRevolve>(slots), steps);
    };
  } else {
    const auto sweep =
        std::make_shared<const PeriodicDiskRevolve>(levels[0], levels[1], costs);
    schedule.actions = [steps, sweep] {
      return std::make_unique<Finished>(sweep->fresh(), steps);
    };
  }
  schedule.lower_bound = offline->lower_bound;
  const CheckpointReplay replay = replay_watched(schedule, progress);
  schedule.cost = replay.cost;
  schedule.advances = replay.advances;
  schedule.use = replay.use;
  if (levels.size() == 2) schedule.levels[1].slots = replay.most_slots[1];
  schedule.proof = schedule.cost == schedule.lower_bound ? CheckpointProof::kOptimal
                                                         : CheckpointProof::kBestFound;
  return schedule;
}

}  // namespace espalier
