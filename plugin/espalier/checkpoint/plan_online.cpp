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
  const CheckpointReplay replay = replay_checkpoint(schedule);
  schedule.cost = replay.cost;
  schedule.advances = replay.advances;
  schedule.use = replay.use;
  if (levels.size() == 2) schedule.levels[1].slots = replay.most_slots[1];
  schedule.proof = schedule.cost == schedule.lower_bound ? CheckpointProof::kOptimal
                                                         : CheckpointProof::kBestFound;
  return schedule;
}

}  // namespace espalier
