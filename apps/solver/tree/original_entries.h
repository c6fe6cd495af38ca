#pragma once

#include <cstddef>
#include <cstdint>

#include "espalier/model/error.h"
#include "espalier/solver/matrix.h"
#include "solver/symbolic/gallop.h"
#include "solver/symbolic/symbolic.h"

namespace espalier::solver {

/// Calls visit(row of the front, place in the matrix) for each entry of A in own pivot
/// column `j` of a front, both counted within it.
/// @param lower    of A, permuted
/// @param delayed  pivot columns of the front that come from its children, after its own
/// @par Cost  O(entries of the column), and a search in the front's rows for each
template <class Visit>
void for_each_original_entry(const Symbolic& symbolic, const SymmetricMatrix& lower,
                             std::int32_t front, std::int32_t j, std::int32_t delayed,
                             const Visit& visit) {
  const auto rows = symbolic.rows_of(front);
  const std::int32_t first = symbolic.first_column[front];
  const std::int32_t pivots = symbolic.pivots(front);
  std::size_t position = 0;
  for (auto k = lower.column_start[first + j]; k < lower.column_start[first + j + 1];
       ++k) {
    std::int32_t i = lower.row[k] - first;
    if (i >= pivots) {
      position = gallop(rows, position, lower.row[k]);
      ESPALIER_ASSERT(position < rows.size() && rows[position] == lower.row[k],
                      "an entry of A lies in the front of its column");
      i = pivots + delayed + static_cast<std::int32_t>(position);
    }
    visit(i, k);
  }
}

}  // namespace espalier::solver
