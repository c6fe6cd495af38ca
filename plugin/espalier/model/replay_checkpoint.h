#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "espalier/model/checkpoint_schedule.h"

namespace espalier {

/// What one action does to time and memory.
struct CheckpointMoment {
  Action action;
  Nanoseconds begin = 0, end = 0;
  /// by level, slots in use once the action has ended; valid during the call
  const std::vector<std::int64_t>* slots = nullptr;
  Bytes during_bytes = 0;  ///< of a chain with sizes: the most while it runs
  Bytes after_bytes = 0;
};

/// What a schedule does.
struct CheckpointReplay {
  std::int64_t actions = 0;
  std::int64_t advances = 0;    ///< forward steps, but those inside a Reverse
  std::int64_t recomputed = 0;  ///< of these, steps that had run before
  Nanoseconds cost = 0;
  std::vector<LevelUse> use;             ///< by level
  std::vector<std::int64_t> most_slots;  ///< by level, at once
  Bytes peak_bytes = 0;                  ///< of a chain with sizes
};

/// Evaluates actions one at a time, so that streams of any length can be. Of states alike
/// a step costs and a level holds what the schedule's fields say. Of a chain with sizes
/// these are in memory:
///   - states in slots, and tapes x̄_{i+1} with the output x_{i+1} in them;
///   - the working state, unless a slot or a tape holds the same state;
///   - the adjoint, of the size of the state that it belongs to, from the start on;
///   - while F_i runs: its output (its tape) and its workspace;
///   - while B_i runs: its workspace, and without a held tape x̄_{i+1} and the workspace
///     of the forward step inside.
class CheckpointReplayer {
 public:
  /// @param schedule  steps, levels, costs and chain are used; has to outlive this
  explicit CheckpointReplayer(const CheckpointSchedule& schedule);

  /// @throws InvalidInput when the action cannot be carried out: a state that is not
  ///         there, a slot that does not exist, a step out of turn
  CheckpointMoment take(const Action& action);

  [[nodiscard]] const CheckpointReplay& result() const { return result_; }
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  [[noreturn]] void refuse(const Action& action, const char* why) const;
  void forward(const Action& action);
  void restore(const Action& action);
  void reverse(const Action& action);
  void free_slot(std::size_t level, std::int64_t slot);
  void drop_slot_of(std::int64_t step);
  void store(const Action& action);
  void run_step(std::int64_t step, bool keeps_tape);
  [[nodiscard]] Bytes working_bytes() const;
  void hold(std::int64_t step, int by);
  void count(Bytes bytes) { during_ = bytes > during_ ? bytes : during_; }

  const CheckpointSchedule& schedule_;
  const Chain* chain_;
  CheckpointReplay result_;
  // by level: slot -> step; and of a chain with sizes how often a state is held
  std::vector<std::unordered_map<std::int64_t, std::int64_t>> held_;
  std::vector<std::int64_t> slots_;
  std::vector<std::int32_t> times_held_;
  std::vector<bool> taped_;
  Bytes held_bytes_ = 0;  // slots, tapes
  Bytes during_ = 0;
  std::int64_t working_ = 0;
  bool has_working_ = true;
  std::int64_t adjoint_;
  std::int64_t reached_ = 0;  // the furthest state of the first sweep
  bool started_ = false, turned_ = false, ended_ = false;
};

/// The whole schedule. @param watch  is called after every action
/// @throws InvalidInput as CheckpointReplayer::take(), and when the end is missing
/// @par Cost  O(1) an action and step; memory O(slots), of a chain O(steps)
[[nodiscard]] CheckpointReplay replay_checkpoint(
    const CheckpointSchedule& schedule,
    const std::function<void(const CheckpointMoment&)>& watch = {});

}  // namespace espalier
