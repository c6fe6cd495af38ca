#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace espalier {

// The reversal of a chain x_0 -F_0-> x_1 … x_{N-1} -F_{N-1}-> x_N, step by step. Backward
// step i takes x_i and the adjoint of x_{i+1} and makes the adjoint of x_i; it runs F_i
// once more with what differentiation needs. So x_N itself is never needed by it, and N
// steps are reversed: N-1, …, 0.
//
// Who runs a schedule has
//   - one working state: before the first action it is x_0;
//   - slots, in levels: level k has as many as the schedule says, each holds one state;
//   - one adjoint, which each Reverse replaces.
// A slot of a level in memory is best a buffer: storing leaves the working state where it
// is and goes on into another buffer, so that `c` slots take c + 1 buffers when a step
// can overwrite its input, and c + 2 when it reads one buffer and writes another.

/// A place for one state: a slot of a level, the working state, or, in schedules with
/// tapes, the tape of the step that made the state.
struct Place {
  static constexpr std::int32_t kWorking = -1;
  static constexpr std::int32_t kTape = -2;
  std::int32_t level = kWorking;  ///< 0 is the fastest
  std::int64_t slot = 0;          ///< from 0, of that level; kTape: the step
  [[nodiscard]] bool is_slot() const { return level >= 0; }
  auto operator<=>(const Place&) const = default;
};

/// What to do next. The names are those of the Python package checkpoint_schedules.
///
/// kForward     The working state is x_first. When `target` is a slot, it is free and
///              x_first is stored there first (online schedules: the slot may hold a
///              state that is given up). Then steps first … last-1 run, and the
///              working state is x_last. With `keeps_tape` it is one step, run with what
///              its Reverse needs (the tape), which stays until that.
/// kCopy        `source` holds x_first; it becomes the working state, whatever that was.
///              The slot, or the tape of step first - 1, keeps it. (last = first.)
/// kMove        The same for the last time: the slot is free afterwards, so a slot in
///              memory can become the working buffer as it is.
/// kReverse     Backward steps last-1 … first; every planner here gives one at a time,
///              last = first + 1. The adjoint is that of x_last before and of x_first
///              after. The working state is x_first and is not needed afterwards. Or
///              the tape of the step is held; it is freed, and with it the slot that
///              holds x_first, if one does.
/// kEndForward  Once, before the first Reverse: the first sweep is over. The working
///              state is x_{N-1}; its step belongs to its Reverse (in a schedule with
///              tapes it has run and x_N is there).
/// kEndReverse  The last action: every slot is free, the adjoint is that of x_0.
enum class ActionKind : std::uint8_t {
  kForward,
  kReverse,
  kCopy,
  kMove,
  kEndForward,
  kEndReverse
};

/// "Forward", "Reverse", …
[[nodiscard]] std::string_view name(ActionKind kind);

struct Action {
  ActionKind kind = ActionKind::kForward;
  bool keeps_tape = false;           ///< kForward
  std::int64_t first = 0, last = 0;  ///< steps [first, last); of a state: x_first
  Place source;                      ///< kCopy, kMove: the slot; else working
  Place target;                      ///< kForward: where x_first is stored; else working
  bool operator==(const Action&) const = default;

  /// x_first is stored in `target` before, unless that is the working state.
  static Action forward(std::int64_t first, std::int64_t last, Place target = {}) {
    return {ActionKind::kForward, false, first, last, {}, target};
  }
  static Action taped(std::int64_t step, Place target = {}) {
    return {ActionKind::kForward, true, step, step + 1, {}, target};
  }
  static Action copy(std::int64_t step, Place source) {
    return {ActionKind::kCopy, false, step, step, source, {}};
  }
  static Action move(std::int64_t step, Place source) {
    return {ActionKind::kMove, false, step, step, source, {}};
  }
  static Action reverse(std::int64_t step) {
    return {ActionKind::kReverse, false, step, step + 1, {}, {}};
  }
  static Action end_forward(std::int64_t step) {
    return {ActionKind::kEndForward, false, step, step, {}, {}};
  }
  static Action end_reverse() { return {ActionKind::kEndReverse, false, 0, 0, {}, {}}; }
};

/// Gives the actions of a schedule one after the other, so that a schedule of 10^9 of
/// them need not be held. The last is kEndReverse, then nothing, for ever.
class ActionStream {
 public:
  ActionStream() = default;
  ActionStream(const ActionStream&) = default;
  ActionStream& operator=(const ActionStream&) = default;
  virtual ~ActionStream() = default;
  [[nodiscard]] virtual std::optional<Action> next() = 0;
};

}  // namespace espalier
