#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "espalier/checkpoint/h_revolve.h"

namespace espalier {

/// Tables of Revolve for steps of unequal cost u_i, one level without costs:
///   T(i,j,1) = sum over the sweeps from x_i;  T(i,i,.) = 0
///   T(i,j,c) = min_{i<s<=j} u_i + … + u_{s-1} + T(s,j,c-1) + T(i,s-1,c)
/// for reversing the states x_i … x_j, x_i in one of the c slots.
///
/// T(s,j,.) falls and T(i,s-1,.) grows with s, so a range of s costs at least what its
/// two ends give; ranges that cannot win are left out, the others are halved. Exact.
///
/// @par Cost  4 bytes for each of c N^2 / 2 cells; some tens of steps a cell
/// @par Test  equal to trying every s, and to exhaustive search
class UnevenTables {
 public:
  /// @throws InvalidInput for no step, a negative cost, no slot; OverflowError
  UnevenTables(const std::vector<Nanoseconds>& forwards, std::int64_t slots,
               const CheckpointProgress& progress = {});
  [[nodiscard]] Nanoseconds cost() const { return cost_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  [[nodiscard]] std::int64_t slots() const { return slots_; }
  /// s, from x_i stored, with c slots, its own among them; i < j.
  [[nodiscard]] std::int64_t split(std::int64_t i, std::int64_t j, std::int64_t c) const;

 private:
  // Cells (i, j), i <= j, by length of the range.
  [[nodiscard]] std::size_t cell(std::int64_t i, std::int64_t j) const {
    const std::int64_t length = j - i;
    return static_cast<std::size_t>(length * steps_ - length * (length - 1) / 2 + i);
  }
  using Values = std::vector<Nanoseconds>;
  [[nodiscard]] Values one_slot() const;
  [[nodiscard]] Values more_slots(const Values& fewer);
  [[nodiscard]] std::pair<Nanoseconds, std::int64_t> best(const Values& fewer,
                                                          const Values& same,
                                                          std::int64_t i, std::int64_t j,
                                                          std::int64_t guess) const;

  std::int64_t steps_, slots_;
  std::vector<Nanoseconds> sum_;                   // of the steps before
  std::vector<std::vector<std::int32_t>> splits_;  // [c - 2]
  Nanoseconds cost_ = 0;
};

/// Actions of the tables, on level 0.
[[nodiscard]] std::unique_ptr<ActionStream> uneven_stream(
    std::shared_ptr<const UnevenTables> tables);

}  // namespace espalier
