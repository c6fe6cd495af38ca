#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "espalier/checkpoint/h_revolve.h"
#include "espalier/model/chain.h"
#include "espalier/model/checkpoint_schedule.h"
#include "espalier/model/error.h"

namespace espalier {

/// From `bytes` on a schedule of `cost` exists, and none below it costs as little.
struct BudgetPoint {
  Bytes bytes = 0;
  Nanoseconds cost = 0;
  bool operator==(const BudgetPoint&) const = default;
};

/// Heterogeneous chains [BEHJS24]: the least cost for every memory and every part of a
/// chain. C(i,t,m) is the cost of running and reversing stages i … t in m bytes, x_i
/// held outside of them and the adjoint of x_{t+1} inside:
///   C(i,i,m) = f_i + b_i                       if m >= saved(i,i)
///   C(i,t,m) = min( min_{i<j<=t} f_i + … + f_{j-1} + C(j,t,m-x_j) + C(i,j-1,m),
///                   f_i + b_i + C(i+1,t,m-x̄_{i+1})  if m >= saved(i,t) )
///              if m >= run(i,t), where
///   run(i,t)   = max( x_{t+1} + x_{i+1} + ftmp_i,
///                     max_{i<k<t} x_{t+1} + x_k + x_{k+1} + ftmp_k )
///   saved(i,t) = x̄_{i+1} + max( x_{t+1} + ftmp_i, x_{i+1} + btmp_i ).
/// As a function of m each is a staircase, kept as its steps in bytes: exact, and one
/// table answers every budget. (saved(i,t) counts the adjoint that really is there while
/// a taped forward runs: docs/decisions/0064.)
///
/// These are the best of the persistent schedules: what is stored stays until it has been
/// used in backward. Others may cost less; finding the best of all is NP-hard.
///
/// @par Cost  O(L^3 S) for staircases of S steps, less what a bound leaves out: a first
///            stop j costs at least what all its stages cost once, and only m where the
///            best so far is above that are looked at. 16 bytes a step.
/// @par Test  equal to a table over every byte; replayed and validated
class RotorTable {
 public:
  /// @throws OverflowError when costs may leave 64 bits
  explicit RotorTable(std::shared_ptr<const Chain> chain,
                      const CheckpointProgress& progress = {});

  [[nodiscard]] const Chain& chain() const { return *chain_; }
  [[nodiscard]] const std::shared_ptr<const Chain>& shared_chain() const {
    return chain_;
  }
  /// Cost over m of the stages i … t; the bytes ascend, the costs fall.
  [[nodiscard]] std::span<const BudgetPoint> part(std::int64_t i, std::int64_t t) const {
    return parts_[cell(i, t)];
  }
  /// The same for the whole chain, x_0 counted.
  [[nodiscard]] std::vector<BudgetPoint> curve() const;

  /// How the stages i … t, i < t, are done in m bytes: 0 with the tape of stage i, else
  /// the first stop j. @pre m is enough
  [[nodiscard]] std::int64_t choice(std::int64_t i, std::int64_t t, Bytes m) const;

 private:
  [[nodiscard]] std::size_t cell(std::int64_t i, std::int64_t t) const {
    return static_cast<std::size_t>(i * chain_->size() + t);
  }
  [[nodiscard]] Bytes run_bytes(std::int64_t i, std::int64_t t) const;
  [[nodiscard]] Bytes saved_bytes(std::int64_t i, std::int64_t t) const;
  [[nodiscard]] std::vector<BudgetPoint> fill(std::int64_t i, std::int64_t t) const;

  std::shared_ptr<const Chain> chain_;
  std::vector<Nanoseconds> forward_, both_;  // sums of f and of f + b before a stage
  std::vector<std::vector<BudgetPoint>> parts_;
};

/// The persistent schedule of least cost inside `bound`. Level 0 has a slot for each
/// state that is stored at once.
/// @return Infeasible with the least that suffices: impossible when no stage could be
///         reversed beside x_0, none found when only persistent schedules need more
[[nodiscard]] Expected<CheckpointSchedule> plan_chain(
    const std::shared_ptr<const RotorTable>& table, Bytes bound);

}  // namespace espalier
