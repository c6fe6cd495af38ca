#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solver/front/factor.h"
#include "solver/solve/ancestor_rows.h"
#include "solver/solve/vectors.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/assembly_tree.h"

namespace espalier::solver {

/// Where each unit's vector begins, of one right-hand side, in which what its fronts do to
/// rows beyond them is summed up: an entry for each row of its last front. And the end.
/// @param forest  of each node, which then are the units, whether it has one; empty: all
[[nodiscard]] std::vector<std::int64_t> sum_starts(
    const Symbolic& symbolic, const AssemblyTree& tree,
    std::span<const std::int8_t> forest = {});

/// These vectors in the forward half of a solve by one thread, for units in order: the
/// sums are those of TreeSolve, term by term.
template <class T>
class UnitSums {
 public:
  /// Entries of memory for so many right-hand sides; 0: there is one unit.
  [[nodiscard]] static std::int64_t entries(const Symbolic& symbolic,
                                            const AssemblyTree& tree, std::int32_t count);

  /// @param b       right-hand sides, which outlive this
  /// @param memory  entries() of any content
  UnitSums(const Symbolic& symbolic, const AssemblyTree& tree, const Vectors<T>& b,
           std::span<T> memory);

  /// Adds what a unit's children did to its rows to b. @return where its own sums go,
  /// which have what the children did to rows beyond
  [[nodiscard]] AncestorRows<T> open(std::size_t unit);

 private:
  [[nodiscard]] std::span<const std::int32_t> rows_of(std::size_t unit) const {
    return symbolic_.rows_of(units_[unit].end - 1);
  }
  [[nodiscard]] Vectors<T> sums(std::size_t unit) const {
    return {memory_ + start_[unit] * b_.count, start_[unit + 1] - start_[unit], b_.count};
  }

  const Symbolic& symbolic_;
  std::span<const IndexRange> units_;
  Vectors<T> b_;
  T* memory_;
  std::vector<std::int64_t> start_;
  std::int32_t* places_ = nullptr;    // behind the vectors
  std::vector<std::size_t> pending_;  // units whose parents have not been opened
};

}  // namespace espalier::solver
