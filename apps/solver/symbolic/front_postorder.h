#pragma once

#include <cstdint>
#include <vector>

#include "solver/symbolic/supernodes.h"

namespace espalier::solver {

/// The postorder of the fronts that needs the least memory when they are factorised one
/// after the other in it: best_postorder() of the tree with f = the lower triangle of the
/// contribution block and r = the lower trapezoid of the panel, in doubles. Where the
/// numbers of the fronts themselves, which must be a postorder, need at most 64 KiB or a
/// thousandth more than any order does, they stay; where that is so with leaves after
/// their siblings, nothing is sorted either.
///
/// @return result[position] = front; children first, every subtree contiguous
/// @throws OverflowError when the factor has more than 2^63 - 1 bytes
/// @par Cost  O(fronts log(fronts)); a transient of about 150 bytes a front
[[nodiscard]] std::vector<std::int32_t> front_postorder(const SupernodeTree& tree);

}  // namespace espalier::solver
