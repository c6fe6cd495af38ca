#pragma once

#include <cstdint>
#include <span>

#include "solver/ordering/lower_rows.h"
#include "solver/symbolic/symbolic.h"

namespace espalier::solver {

/// Fills symbolic.rows, whose place row_start has.
///
/// Row i belongs to the fronts on the paths from the columns of A's row i up to the front
/// that eliminates i. Rows are visited in increasing order, so each list comes out
/// sorted. Threads do so in subtrees of the fronts at the same time; what is above them
/// is few fronts, each of which gets the rows that its children leave it and its own of
/// A.
///
/// @param lower         rows of A in the numbering of the elimination tree
/// @param column_order  column_order[new] = column of `lower`
/// @par Cost  O(nonzeros of A + rows); beside the result 4 n bytes, 4 a front, 8 for each
///            entry of A between a subtree and what is above
/// @par Test  FillRows.*: the same for any number of threads; analyse()'s tests
void fill_rows(const LowerRows& lower, std::span<const std::int32_t> column_order,
               TaskPool& pool, Symbolic& symbolic);

}  // namespace espalier::solver
