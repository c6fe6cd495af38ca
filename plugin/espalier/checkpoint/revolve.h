#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "espalier/model/checkpoint_action.h"

namespace espalier {

// Revolve [GW00]: one level of `slots` for states, steps of equal cost, stores and
// restores for nothing. `steps` is N, the number of steps to reverse; x_0 takes one of
// the slots. With β(c,r) = C(c+r, c), the states that c slots reverse when no step runs
// forwards more than r times, and r the least with β(c,r) >= N, the least number of
// forward steps is
//   t(N,c) = r N - C(c+r, c+1).
// Each Reverse runs its own step once more: t does not count that.

/// Forward steps of the best schedule. One slot is enough for any chain; a chain of one
/// step needs none.
/// @throws InvalidInput unless steps >= 1 and slots >= 1; OverflowError beyond 2^63 - 1
/// @par Cost  O(r)
/// @par Test  equal to the recurrence and to exhaustive search; N to 10^9
[[nodiscard]] std::int64_t revolve_cost(std::int64_t steps, std::int64_t slots);

/// r: no step runs forwards more than that often. @throws InvalidInput as above
[[nodiscard]] std::int64_t revolve_repetitions(std::int64_t steps, std::int64_t slots);

/// Where a state count n stands among the binomials of c slots: r is the least with
/// β(c,r) >= n, and below = β(c, r-1) < n; r = 0 and below = 0 for n = 1. (β(c, r) itself
/// may leave 64 bits, below cannot.)
struct RevolveRank {
  std::int64_t repetitions = 0;
  std::int64_t below = 0;
};

/// How far to advance from x_p, which is stored, when n states x_p … x_{p+n-1} are to be
/// reversed with c slots, x_p's among them: then the right part is reversed with c-1
/// slots and the left part with c.
///
/// The optimal first stops are exactly
///   lo = max(1, β(c,r-2), n-β(c-1,r)) … hi = min(n-1, β(c,r-1), n-β(c-1,r-1)),
/// and they differ in how often states are stored later. What a part of n states stores
/// at least is flat in n up to F(c,r) = β(c,r) - β(c-2,r) = β(c,r-1) + β(c-1,r-1) and
/// grows by one a state above it, so the first stop that stores least often keeps the
/// right part flat: min(hi, max(1, β(c,r-2), n - F(c-1,r))). (docs/decisions/0062; 10 %
/// fewer stores than lo, 19 % fewer than hi on chains of 60 to 160 steps.)
///
/// @pre n >= 2, c >= 2, `rank` is that of (n, c)
/// @par Test  cost and number of stores equal to an exhaustive recurrence over both
[[nodiscard]] std::int64_t revolve_split(std::int64_t n, std::int64_t c,
                                         const RevolveRank& rank);

/// How often the best schedule that stores least often stores a state, x_0 not counted:
/// β(c-1, r-1) - 1 + max(0, N - F(c,r)). (It restores one before every Reverse but the
/// first.) @throws InvalidInput as above
[[nodiscard]] std::int64_t revolve_stores(std::int64_t steps, std::int64_t slots);

/// States x_first … x_{first+steps-1} of a longer chain, to be reversed with `slots`
/// slots, numbered from 0.
struct RevolvePart {
  std::int64_t first = 0, steps = 1, slots = 1;
  bool stored = false;  ///< x_first is in slot 0 and is restored at first; else working
};

/// The actions of the best schedule, and of the best ones one that stores least often.
/// Slots are those of level 0. A state is stored when something will read it: the last
/// state of a sweep is not.
///
/// @par Cost  O(1) an action; memory O(min(slots, steps)); any N up to 2^62
/// @par Test  replayed: cost t(N,c), never more than c slots, all small (N, c)
class RevolveStream final : public ActionStream {
 public:
  /// @throws InvalidInput unless 1 <= steps <= 2^62 and slots >= 1
  RevolveStream(std::int64_t steps, std::int64_t slots)
      : RevolveStream(RevolvePart{0, steps, slots}) {}
  explicit RevolveStream(const RevolvePart& part);
  [[nodiscard]] std::optional<Action> next() override;

 private:
  // A state that is stored, or will be when the sweep goes on from it, in the slot of
  // its place on the stack. `rank` is that of the states from it to the end of its part.
  struct Entry {
    std::int64_t step;
    RevolveRank rank;
    bool stored;
  };
  enum class Next : std::uint8_t { kGoOn, kRestore, kEnd, kNothing };

  [[nodiscard]] Action advance();
  [[nodiscard]] Action restore();
  [[nodiscard]] Action turn();

  std::int64_t first_, slots_;
  std::int64_t end_;           // from first_ on: the last step that is not yet reversed
  std::int64_t position_ = 0;  // of the working state, from first_ on
  Next next_ = Next::kGoOn;
  bool turned_ = false;
  std::vector<Entry> stack_;
};

}  // namespace espalier
