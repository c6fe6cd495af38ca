#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "espalier/checkpoint/h_revolve.h"
#include "espalier/checkpoint/revolve.h"

namespace espalier {

/// Actions of a sweep whose end is not known. next() goes on by one step each time until
/// finish() has been called; then it reverses.
class OnlineSweep : public ActionStream {
 public:
  /// The working state is the last that is needed, x_{N-1}: the next action is
  /// EndForward.
  virtual void finish() = 0;
};

/// One level of slots without costs. A greedy rule: while a slot is free the state is
/// stored. Else P = p_0 … p_k, k + 1 = c, are stored and x_i is about to be left; what
/// would cost least if the sweep ended after one more step, N = i + 2,
///   R(P,N) = N-1 + sum_{a<k} t(p_{a+1} - p_a, c-a) + t(N-1-p_k, c-k),
/// decides between leaving P as it is and giving up one p_a, a >= 1, for x_i (ties: the
/// earliest). Then each part between two stored states is reversed by Revolve.
///
/// No online rule is optimal for every N. Up to N = β(c,2) + 1 this one is [measured for
/// c = 2 … 20]; beyond, its ratio to the optimum is at most 1.14 for c = 2, 1.06 for 3
/// and 1.05 for more, for N to 1200 or β(c,4) (OnlineCheckpoints.RatioToTheOptimum).
///
/// @par Cost  O(c r) a step of the sweep; memory O(c)
class OnlineRevolve final : public OnlineSweep {
 public:
  /// @throws InvalidInput unless slots >= 1
  explicit OnlineRevolve(std::int64_t slots);
  void finish() override { finished_ = true; }
  [[nodiscard]] std::optional<Action> next() override;

 private:
  [[nodiscard]] Action sweep();
  [[nodiscard]] std::optional<std::size_t> given_up() const;

  std::int64_t slots_;
  std::int64_t position_ = 0;
  std::vector<std::int64_t> stored_;   // p_0 … p_k
  std::vector<std::int64_t> slot_of_;  // by place in stored_, then the free ones
  std::optional<RevolveStream> part_;  // between stored_.back() and what is reversed
  std::int64_t end_ = 0;               // the last step that no part has taken
  bool finished_ = false, turned_ = false, reversed_ = false, ended_ = false;
};

/// Memory without costs, and beside it a disk without an end, written every `period`
/// steps: periodic Disk-Revolve [AH17]. The period is the m of least
/// (w + r + D1(m-1)) / m, whatever N will be. In between memory is filled by the greedy
/// rule, anew in each period, so that the last one is reversed from there; what is left
/// of the periods before is given up after the turn (a Move that is not used).
///
/// @par Cost  O(1) an action; memory O(slots + period)
class PeriodicDiskRevolve final : public OnlineSweep {
 public:
  /// @throws InvalidInput unless memory has slots and costs nothing, and steps cost
  PeriodicDiskRevolve(const CheckpointLevel& memory, const CheckpointLevel& disk,
                      const StepCosts& costs);
  void finish() override { finished_ = true; }
  [[nodiscard]] std::optional<Action> next() override;
  [[nodiscard]] std::int64_t period() const { return tables_->steps(); }
  /// Another one, from the start, with the same tables.
  [[nodiscard]] std::unique_ptr<PeriodicDiskRevolve> fresh() const {
    return std::unique_ptr<PeriodicDiskRevolve>(new PeriodicDiskRevolve(tables_, slots_));
  }

 private:
  PeriodicDiskRevolve(std::shared_ptr<const HierarchyTables> tables, std::int64_t slots)
      : tables_(std::move(tables)), slots_(slots) {}
  [[nodiscard]] Action sweep();
  [[nodiscard]] std::optional<Action> reverse_last_period();

  std::shared_ptr<const HierarchyTables> tables_;  // of a period
  std::int64_t slots_;                             // in memory
  std::optional<OnlineRevolve> memory_;    // of the last period, from its second state
  std::vector<std::int64_t> memory_step_;  // by slot: the state that it holds
  std::unique_ptr<HierarchyStream> part_;
  std::int64_t position_ = 0, end_ = 0;
  std::int64_t first_ = 0;  // of the part
  bool finished_ = false, turned_ = false, reversed_ = false, ended_ = false;
};

/// What the online rule does on a chain that turns out to have so many steps: one level,
/// or memory and a disk (whose slots are as many as were needed). The lower bound is the
/// optimum of a known length.
/// @throws InvalidInput for other levels
[[nodiscard]] ExpectedSlots<CheckpointSchedule> plan_online(
    std::int64_t steps, const std::vector<CheckpointLevel>& levels,
    const StepCosts& costs, const CheckpointProgress& progress = {});

}  // namespace espalier
