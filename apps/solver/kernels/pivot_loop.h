#pragma once

// The rounds in which factor_pivot_block() offers columns to an inner factorisation.
// Private to the kernels.

#include <algorithm>
#include <cstdint>
#include <span>

#include "solver/kernels/inner_factor.h"
#include "solver/kernels/pivot_block.h"
#include "solver/matrix/entry.h"

namespace espalier::solver::kernels {

/// LU: the part of the largest entry of a column, inside the block, from which on the one
/// on the diagonal is taken.
[[nodiscard]] inline double preferred_part(const PivotRule& rule) {
  return std::max(0.5, rule.threshold);
}

/// Eliminates what it can of a block. Places 0 .. done - 1 are eliminated; columns that
/// failed in this round stand from `end` on.
template <class T>
class PivotLoop {
 public:
  PivotLoop(const PivotBlock<T>& block, const PivotRule& rule, std::span<T> scratch);
  virtual ~PivotLoop() = default;
  PivotLoop(const PivotLoop&) = delete;
  PivotLoop& operator=(const PivotLoop&) = delete;

  PivotCounts run();

 protected:
  /// Brings columns that belong together to the places from `first` on.
  /// @return how many of them, at least 1, make the next inner block
  virtual std::int32_t compose(std::int32_t first, std::int32_t end) = 0;
  /// Eliminates the first columns, in an order of its own, of the inner block that
  /// begins at `first`, and updates the block. @return how many
  virtual std::int32_t eliminate(std::int32_t first, InnerFactor<T>& inner) = 0;
  /// Exchanges places p < q, of rows and columns, in the diagonal block.
  virtual void exchange_diagonal(std::int32_t p, std::int32_t q) = 0;
  /// Exchanges places p <= q, of rows and columns, in all of the block.
  void exchange(std::int32_t p, std::int32_t q);
  /// No first pivot of column j at u passes if an entry below is over this divided by u.
  virtual RealOf<T> pivot_reach(std::int32_t j, std::int32_t done) const = 0;

  T* at(std::int32_t i, std::int32_t j) const {
    return block_.diagonal + i + std::int64_t{j} * block_.leading;
  }
  [[nodiscard]] double bound() const;
  /// Modulus that replaces zero pivots.
  RealOf<T> replacement() const { return replacement_; }

  const PivotBlock<T>& block_;
  const PivotRule& rule_;
  std::span<T> scratch_;
  Strictness strictness_ = Strictness::kThreshold;
  PivotCounts counts_{};

 private:
  // Moves columns of the inner block that failed to the end. @return the new end
  std::int32_t set_aside(std::int32_t first, std::int32_t end, std::int32_t kept,
                         const InnerFactor<T>& inner);
  // Moves columns that are sure to fail as things stand to the end, likewise.
  std::int32_t set_aside_hopeless(std::int32_t done, std::int32_t end);
  bool give_way();

  RealOf<T> replacement_;
};

template <class T>
PivotCounts factor_ldlt_block(const PivotBlock<T>& block, const PivotRule& rule,
                              std::span<T> scratch);
template <class T>
PivotCounts factor_lu_block(const PivotBlock<T>& block, const PivotRule& rule,
                            std::span<T> scratch);

}  // namespace espalier::solver::kernels
