#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/model/chain.h"
#include "espalier/model/checkpoint_action.h"

namespace espalier {

/// Slots for states of one kind, and what one store and one restore cost.
struct CheckpointLevel {
  std::string name = "ram";
  std::int64_t slots = 0;
  Nanoseconds write = 0, read = 0;
};

/// What steps cost: each the same, or each its own.
struct StepCosts {
  Nanoseconds forward = 1;
  Nanoseconds backward = 0;           ///< with the forward step inside it
  std::vector<Nanoseconds> forwards;  ///< by step; empty: `forward` each
  [[nodiscard]] Nanoseconds forward_of(std::int64_t step) const {
    return forwards.empty() ? forward : forwards[static_cast<std::size_t>(step)];
  }
};

/// What is proved of the cost of a schedule.
enum class CheckpointProof : std::uint8_t {
  kOptimal,            ///< no schedule with these slots costs less
  kOptimalPersistent,  ///< none does that keeps what it stores until its use in backward
  kOptimalReadOnce,    ///< none does that reads each state of the last level once
  kBestFound
};
/// "optimal", "optimal among persistent schedules", …, "best found"
[[nodiscard]] std::string_view name(CheckpointProof proof);

/// The answer "not with so few slots".
struct TooFewSlots {
  std::int64_t slots = 0;        ///< that there are
  std::int64_t least_slots = 0;  ///< that suffice
  [[nodiscard]] std::string message() const;
};

/// How often states were written to a level and read from it.
struct LevelUse {
  std::int64_t writes = 0, reads = 0;
  bool operator==(const LevelUse&) const = default;
};

/// @throws InvalidInput: the schedule is no planner's
[[noreturn]] std::unique_ptr<ActionStream> no_actions();

/// How a chain is reversed, and what that costs.
///
/// With `chain` empty all states are alike and `levels` say where they can be; an advance
/// costs what `costs` says, a Reverse costs.backward. With a chain, states and tapes have
/// sizes, one level holds as many as fit in `bound_bytes`, and a Reverse of a step whose
/// tape is not held costs its forward on top of its backward.
struct CheckpointSchedule {
  std::int64_t steps = 0;
  std::vector<CheckpointLevel> levels;
  StepCosts costs;
  std::shared_ptr<const Chain> chain;
  /// x_0 lies in a slot from the start: its first store costs nothing and is not counted.
  bool starts_stored = false;

  /// A stream from the start, as often as one likes; it keeps what it needs alive. Until
  /// a planner has given one: throws InvalidInput.
  std::function<std::unique_ptr<ActionStream>()> actions = no_actions;

  std::int64_t advances = 0;  ///< forward steps, but those inside a Reverse
  std::vector<LevelUse> use;  ///< by level
  Nanoseconds cost = 0;
  Nanoseconds lower_bound = 0;  ///< no schedule at all costs less
  CheckpointProof proof = CheckpointProof::kBestFound;
  Bytes bound_bytes = 0, peak_bytes = 0;  ///< of a chain with sizes
};

}  // namespace espalier
