#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solver/matrix/general_matrix.h"

namespace espalier::solver {

/// Strong components [Tar72] of the graph with an edge from j to i for each stored entry
/// (i, j): the finest block triangular form that P A P^T has. Components are numbered so
/// that entries are in rows of their column's component or of one before it:
///   component[i] <= component[j] for every (i, j).
///
///   example: entries (0,1), (1,0), (1,2)     component = 0 0 1
///
/// @return the component of each column, from 0
/// @par Cost  O(n + nonzeros), no recursion; rows of a column need not be increasing
/// @par Test  equals reachability on small random graphs
[[nodiscard]] std::vector<std::int32_t> strong_components(const GeneralMatrix& matrix);

/// The entries inside components, and the others.
struct ComponentSplit {
  GeneralMatrix inside;
  GeneralMatrix between;
};
/// @par Cost  O(n + nonzeros); entries of a column keep their order
[[nodiscard]] ComponentSplit split_components(GeneralMatrix&& matrix,
                                              std::span<const std::int32_t> component);

}  // namespace espalier::solver
