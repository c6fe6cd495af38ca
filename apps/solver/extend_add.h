#pragma once

#include <cstdint>
#include <span>

#include "solver/sparse_matrix.h"
#include "solver/symbolic.h"
#include "solver/trapezoid.h"

namespace espalier::solver {

/// A front being assembled: pivot columns and contribution block, zero before the first
/// addition. Entry (i, j) of the front lies in `panel` for j < pivots and otherwise in
/// `contribution` at (i - pivots, j - pivots).
struct FrontStorage {
  Trapezoid panel_layout, contribution_layout;
  double* panel = nullptr;
  double* contribution = nullptr;

  /// Where entry (i, column) lies, less i.
  [[nodiscard]] double* column(std::int32_t j) const {
    const std::int32_t pivots = panel_layout.columns();
    return j < pivots
               ? panel + panel_layout.column_offset(j)
               : contribution + contribution_layout.column_offset(j - pivots) - pivots;
  }
};

/// Position in the parent front of each row of a child's contribution block, increasing.
///
///   child rows   7 9 12      parent pivots 7 8, rows 9 11 12     indices 0 2 4
///
/// @par Cost  O(c log(n/c)) for c rows in a parent of n
void relative_indices(const Symbolic& symbolic, std::int32_t child, std::int32_t parent,
                      std::span<std::int32_t> indices);

/// Adds the columns [begin, end) of a contribution block into its parent.
void extend_add(const Trapezoid& layout, const double* contribution,
                std::span<const std::int32_t> indices, std::int32_t begin,
                std::int32_t end, const FrontStorage& parent);

/// Adds the entries of A in the pivot columns [begin, end) (counted within the front).
void add_original_entries(const Symbolic& symbolic, const SymmetricMatrix& permuted,
                          std::int32_t front, std::int32_t begin, std::int32_t end,
                          const FrontStorage& storage);

}  // namespace espalier::solver
