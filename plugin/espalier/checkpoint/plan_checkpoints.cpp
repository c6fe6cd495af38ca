// Which planner a chain of equal states takes, and what its schedule does.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "espalier/checkpoint/h_revolve.h"
#include "espalier/checkpoint/revolve.h"
#include "espalier/checkpoint/uneven_revolve.h"
#include "espalier/model/replay_checkpoint.h"

namespace espalier {
namespace {

void check(std::int64_t steps, const std::vector<CheckpointLevel>& levels,
           const StepCosts& costs) {
  if (steps < 1) throw InvalidInput(fmt::format("{} is not 1 step or more", steps));
  if (levels.empty()) throw InvalidInput("there is no level to store states in");
  for (const CheckpointLevel& level : levels) {
    if (level.slots < 0 || level.write < 0 || level.read < 0) {
      throw InvalidInput(
          fmt::format("level {}: slots and costs are not negative", level.name));
    }
  }
  if (costs.forward < 0 || costs.backward < 0)
    throw InvalidInput("the cost of a step is not negative");
  if (!costs.forwards.empty() &&
      static_cast<std::int64_t>(costs.forwards.size()) != steps) {
    throw InvalidInput(
        fmt::format("{} steps have {} costs", steps, costs.forwards.size()));
  }
}

void check_for_tables(std::int64_t steps) {
  if (steps >= std::numeric_limits<std::int32_t>::max()) {
    throw InvalidInput(fmt::format(
        "{} steps are too many for levels with costs: at most 2^31 - 2", steps));
  }
}

bool is_free(const CheckpointLevel& level) { return level.write == 0 && level.read == 0; }

Nanoseconds revolve_whole_cost(std::int64_t steps, std::int64_t slots,
                               const StepCosts& costs) {
  return checked_add(checked_mul(revolve_cost(steps, slots), costs.forward),
                     checked_mul(steps, costs.backward));
}

bool cost_has_64_bits(std::int64_t steps, std::int64_t slots, const StepCosts& costs) {
  try {
    (void)revolve_whole_cost(steps, slots, costs);
    return true;
  } catch (const OverflowError&) {
    return false;
  }
}

// The fewest slots that suffice: one, unless the cost would leave the 64-bit range. None
// where more of them do not help.
std::optional<std::int64_t> least_slots(std::int64_t steps, const StepCosts& costs) {
  if (cost_has_64_bits(steps, 1, costs)) return 1;
  if (!cost_has_64_bits(steps, steps, costs)) return std::nullopt;
  std::int64_t too_few = 1, enough = steps;
  while (enough - too_few > 1) {
    const std::int64_t slots = too_few + (enough - too_few) / 2;
    (cost_has_64_bits(steps, slots, costs) ? enough : too_few) = slots;
  }
  return enough;
}

[[noreturn]] void refuse_cost(const CheckpointSchedule& schedule) {
  const std::int64_t slots = schedule.levels[0].slots;
  const auto least = least_slots(schedule.steps, schedule.costs);
  throw OverflowError(fmt::format(
      "the cost of reversing {} steps with {} slot{} leaves the 64-bit range{}",
      schedule.steps, slots, slots == 1 ? "" : "s",
      least ? fmt::format("; with {} slots it does not", *least) : ""));
}

// A table is not needed: figures in closed form, of chains too long to be replayed.
CheckpointSchedule revolve_schedule(CheckpointSchedule schedule) {
  const std::int64_t steps = schedule.steps, slots = schedule.levels[0].slots;
  schedule.actions = [steps, slots] {
    return std::make_unique<RevolveStream>(steps, slots);
  };
  if (!cost_has_64_bits(steps, slots, schedule.costs)) refuse_cost(schedule);
  schedule.advances = revolve_cost(steps, slots);
  schedule.use = {{revolve_stores(steps, slots), steps - 1}};
  schedule.cost = revolve_whole_cost(steps, slots, schedule.costs);
  return schedule;
}

// The figures that a table does not hold.
CheckpointSchedule replayed(CheckpointSchedule schedule) {
  const CheckpointReplay replay = replay_checkpoint(schedule);
  ESPALIER_ASSERT(replay.cost == schedule.cost, "a schedule costs what its table says");
  schedule.advances = replay.advances;
  schedule.use = replay.use;
  return schedule;
}

CheckpointSchedule uneven_schedule(CheckpointSchedule schedule,
                                   const CheckpointProgress& progress) {
  check_for_tables(schedule.steps);
  const auto tables = std::make_shared<const UnevenTables>(
      schedule.costs.forwards, schedule.levels[0].slots, progress);
  schedule.actions = [tables] { return uneven_stream(tables); };
  schedule.cost =
      checked_add(tables->cost(), checked_mul(schedule.steps, schedule.costs.backward));
  return replayed(std::move(schedule));
}

// Costs that do not fall from a level to the next, none of them above the given ones.
std::vector<CheckpointLevel> risen(std::vector<CheckpointLevel> levels) {
  for (std::size_t k = levels.size() - 1; k-- > 0;) {
    levels[k].write = std::min(levels[k].write, levels[k + 1].write);
    levels[k].read = std::min(levels[k].read, levels[k + 1].read);
  }
  return levels;
}

bool rises(const std::vector<CheckpointLevel>& levels) {
  for (std::size_t k = 1; k < levels.size(); ++k) {
    if (levels[k].write < levels[k - 1].write || levels[k].read < levels[k - 1].read)
      return false;
  }
  return true;
}

CheckpointSchedule hierarchy_schedule(CheckpointSchedule schedule,
                                      const CheckpointProgress& progress) {
  check_for_tables(schedule.steps);
  const auto tables = std::make_shared<const HierarchyTables>(
      schedule.steps, schedule.levels, schedule.costs, progress);
  schedule.actions = [tables] { return std::make_unique<HierarchyStream>(tables); };
  // Of one level x_0 is in its slot.
  const bool first_is_free = schedule.starts_stored && schedule.steps > 1;
  schedule.cost = tables->cost() - (first_is_free ? schedule.levels[0].write : 0);
  if (!rises(schedule.levels)) {
    schedule.proof = CheckpointProof::kBestFound;
    schedule.lower_bound =
        HierarchyTables(schedule.steps, risen(schedule.levels), schedule.costs, progress)
            .cost();
    if (schedule.lower_bound == schedule.cost) schedule.proof = CheckpointProof::kOptimal;
  }
  return replayed(std::move(schedule));
}

// Costs that fall from a level to the next are not proved the best of their kind.
CheckpointSchedule read_once_schedule(CheckpointSchedule schedule,
                                      const CheckpointProgress& progress) {
  CheckpointSchedule any = hierarchy_schedule(schedule, progress);
  const auto tables = std::make_shared<const HierarchyTables>(
      schedule.steps, schedule.levels, schedule.costs, progress,
      HierarchyTables::LastLevel::kReadOnce);
  schedule.actions = [tables] { return std::make_unique<HierarchyStream>(tables); };
  schedule.cost = tables->cost();
  schedule.lower_bound =
      any.proof == CheckpointProof::kOptimal ? any.cost : any.lower_bound;
  schedule.proof = rises(schedule.levels) ? CheckpointProof::kOptimalReadOnce
                                          : CheckpointProof::kBestFound;
  if (schedule.lower_bound == schedule.cost) schedule.proof = CheckpointProof::kOptimal;
  return replayed(std::move(schedule));
}

bool without_slots(const std::vector<CheckpointLevel>& levels) {
  return std::ranges::all_of(
      levels, [](const CheckpointLevel& level) { return level.slots == 0; });
}

void check_slots(const std::vector<CheckpointLevel>& levels) {
  for (const CheckpointLevel& level : levels) {
    if (level.slots == 0)
      throw InvalidInput(fmt::format("level {} has no slot: leave it out", level.name));
  }
}

// What is known before a planner is asked.
CheckpointSchedule asked(std::int64_t steps, const std::vector<CheckpointLevel>& levels,
                         const StepCosts& costs) {
  CheckpointSchedule schedule;
  schedule.steps = steps;
  schedule.levels = levels;
  schedule.costs = costs;
  schedule.starts_stored = levels.size() == 1;
  schedule.proof = CheckpointProof::kOptimal;
  return schedule;
}

}  // namespace

ExpectedSlots<CheckpointSchedule> plan_checkpoints(
    std::int64_t steps, const std::vector<CheckpointLevel>& levels,
    const StepCosts& costs, const CheckpointProgress& progress) {
  check(steps, levels, costs);
  const bool none = without_slots(levels);
  if (none && steps > 1)
    return tl::make_unexpected(TooFewSlots{0, least_slots(steps, costs).value_or(1)});
  CheckpointSchedule schedule = asked(steps, levels, costs);
  if (none) {  // one step needs no slot
    schedule.actions = [] { return std::make_unique<RevolveStream>(1, 1); };
    schedule.cost = costs.backward;
    schedule.use.resize(levels.size());
    schedule.lower_bound = schedule.cost;
    return schedule;
  }
  check_slots(levels);
  const bool plain = levels.size() == 1 && is_free(levels[0]);
  if (!plain && !costs.forwards.empty())
    throw InvalidInput("steps of unequal cost need one level without costs");
  if (!plain) {
    schedule = hierarchy_schedule(std::move(schedule), progress);
  } else if (costs.forwards.empty()) {
    schedule = revolve_schedule(std::move(schedule));
  } else {
    schedule = uneven_schedule(std::move(schedule), progress);
  }
  if (schedule.proof == CheckpointProof::kOptimal) schedule.lower_bound = schedule.cost;
  return schedule;
}

ExpectedSlots<CheckpointSchedule> plan_read_once(
    std::int64_t steps, const std::vector<CheckpointLevel>& levels,
    const StepCosts& costs, const CheckpointProgress& progress) {
  check(steps, levels, costs);
  if (levels.size() < 2 || !costs.forwards.empty()) {
    throw InvalidInput(
        "what is read once is on the last of two levels or more, and steps are of equal "
        "cost");
  }
  if (without_slots(levels)) return plan_checkpoints(steps, levels, costs, progress);
  check_slots(levels);
  return read_once_schedule(asked(steps, levels, costs), progress);
}

}  // namespace espalier
