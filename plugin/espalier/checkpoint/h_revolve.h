#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "espalier/model/checkpoint_schedule.h"
#include "espalier/model/error.h"

namespace espalier {

template <class T>
using ExpectedSlots = tl::expected<T, TooFewSlots>;

/// Called now and then by planners that fill tables. @param part  of the work, 0 to 1
using CheckpointProgress = std::function<void(double part)>;

/// Tables of H-Revolve [HP20] for states x_0 … x_l, levels 0 … K-1 with c_k slots, write
/// and read costs w_k and r_k, a step uf and a backward step ub:
///   O_k(l,m)   x_0 is the working state, m slots of level k are free, those below empty;
///   O'_k(l,m)  the same, and x_0 is in one of these m slots already.
///   O_k(0,.) = O'_k(0,.) = ub;   O_k(l,0) = O_{k-1}(l, c_{k-1}), infinite for k = 0
///   O'_k(l,m) = min( O_{k-1}(l, c_{k-1}),
///                    min_{1<=j<=l} j uf + O_k(l-j, m-1) + r_k + O'_k(j-1, m) )
///   O_k(l,m)  = min( O_{k-1}(l, c_{k-1}), w_k + O'_k(l,m) )
/// The least cost is O_{K-1}(l, c_{K-1}). A level 0 without costs is Revolve in closed
/// form.
///
/// When the last level has a slot for every state, and costs, Disk-Revolve [AHHR16] takes
/// the place of its rows: states go there in the first sweep only, and what is left
/// of one is reversed with it and the levels below (B(0) alone, where there are none):
///   D1(l) = min( B(l), min_j j uf + B(l-j) + r + D1(j-1) )          x_0 is there already
///   D∞(l) = min( B(l), min_j w + j uf + D∞(l-j) + r + D1(j-1) ),    B = O_{K-2}(.,
///   c_{K-2})
///
/// With LastLevel::kReadOnce, what the last level holds was stored in the first sweep,
/// and it is read once: what is left of a state is reversed with the levels below alone,
/// from where it was read (1D-Revolve [AHHR16], here with any number of slots):
///   O_k(l,m) = min( B(l), min_j w_k + j uf + O_k(l-j, m-1) + r_k + B(j-1) ).
/// Nothing that costs less stores to the last level in the first sweep alone and reads
/// each of these states once.
///
/// @par Cost  a few dozen steps for each of l (c_1 + … + c_{K-1}) cells (SplitSearch),
///            4 bytes a cell
class HierarchyTables {
 public:
  enum class LastLevel { kFree, kReadOnce };
  /// @param levels  each with slots, none negative in anything
  /// @param steps   N = l + 1, at most 2^31 - 1
  /// @param last    kReadOnce: of two levels or more
  /// @throws OverflowError when costs leave the 64-bit range
  HierarchyTables(std::int64_t steps, std::vector<CheckpointLevel> levels,
                  const StepCosts& costs, const CheckpointProgress& progress = {},
                  LastLevel last = LastLevel::kFree);

  [[nodiscard]] Nanoseconds cost() const { return cost_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  [[nodiscard]] const std::vector<CheckpointLevel>& levels() const { return levels_; }
  [[nodiscard]] bool free_memory() const { return free_memory_; }

  /// How to go on, from x_0 as the working state (and not stored, unless `stored`), with
  /// l >= 1 and m slots of the level: j to advance, from a stored x_0; 0 to use the
  /// levels below alone. Level 0 never gives 0.
  [[nodiscard]] std::int64_t split(std::int32_t level, std::int64_t m, std::int64_t l,
                                   bool stored) const;
  /// What is right of the state at the first stop uses this level (or the one below it
  /// alone: Disk-Revolve).
  [[nodiscard]] bool right_stays(std::int32_t level, bool stored) const {
    return level == 0 || !(unbounded_ && stored && level + 1 == count());
  }
  [[nodiscard]] std::int32_t count() const {
    return static_cast<std::int32_t>(levels_.size());
  }

 private:
  // A row of splits: j > 0: O' and O both split there; j < 0: O' at -j, O goes below;
  // 0: both go below.
  using Row = std::vector<std::int32_t>;
  using Values = std::vector<Nanoseconds>;  // by l, in units, without backward steps

  [[nodiscard]] Values memory_values() const;
  [[nodiscard]] Values level_values(std::size_t level, const Values& below);
  [[nodiscard]] Values fill_row(std::size_t level, const Values& below,
                                const Values& right);
  [[nodiscard]] Values unbounded_values(std::size_t level, const Values& below);
  [[nodiscard]] Values read_once_row(const Values& below, const Values& right);
  [[nodiscard]] Nanoseconds take_unit();
  [[nodiscard]] Nanoseconds most_cost() const;
  void check_range(Nanoseconds unit) const;
  [[nodiscard]] bool split_is_of_use(std::int64_t j) const;
  void report();

  std::int64_t steps_;
  std::vector<CheckpointLevel> levels_;
  Nanoseconds forward_;
  bool free_memory_, unbounded_, read_once_;
  struct Access {
    Nanoseconds write, read;
  };
  std::vector<Access> access_;          // by level, in units
  std::vector<std::vector<Row>> rows_;  // [level][m - 1]
  Row first_sweep_, again_;             // of an unbounded last level: D∞, D1
  Nanoseconds cost_ = 0;
  const CheckpointProgress* progress_;
  std::int64_t rows_done_ = 0, rows_all_ = 0;
};

/// The actions that the tables stand for, by an explicit stack.
/// @par Cost  O(1) an action, memory O(slots)
class HierarchyStream final : public ActionStream {
 public:
  explicit HierarchyStream(std::shared_ptr<const HierarchyTables> tables);
  /// Of the first `steps` states alone, x_0 in the first slot of the last level, from
  /// where it is restored.
  HierarchyStream(std::shared_ptr<const HierarchyTables> tables, std::int64_t steps);
  ~HierarchyStream() override;
  [[nodiscard]] std::optional<Action> next() override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The schedule of least cost on these levels; x_0 is not stored yet, and storing it is a
/// write. One level: x_0 lies in one of its slots from the start (starts_stored); without
/// costs of its own it is Revolve for any number of steps, with StepCosts::forwards the
/// recurrence for unequal steps (uneven_revolve.h).
///
/// @throws InvalidInput for no level, a negative figure, more than 2^31 - 2 steps where a
///         table is needed, unequal steps on several levels or on a level with costs
/// @par Test  equal to exhaustive search over all stores, restores and discards
[[nodiscard]] ExpectedSlots<CheckpointSchedule> plan_checkpoints(
    std::int64_t steps, const std::vector<CheckpointLevel>& levels,
    const StepCosts& costs, const CheckpointProgress& progress = {});

/// The schedule of least cost of those that store to the last level in the first sweep
/// alone and read each of these states once: less traffic, and none of it against the
/// grain of the disk. Its lower bound is the least cost of all schedules.
/// @param levels  two or more
/// @throws InvalidInput as plan_checkpoints()
/// @par Test  equal to exhaustive search over all such schedules
[[nodiscard]] ExpectedSlots<CheckpointSchedule> plan_read_once(
    std::int64_t steps, const std::vector<CheckpointLevel>& levels,
    const StepCosts& costs, const CheckpointProgress& progress = {});

}  // namespace espalier
