#pragma once

#include <array>
#include <cstdint>

#include "espalier/solver/options.h"
#include "solver/symbolic/supernodes.h"
#include "solver/threads/task_pool.h"

namespace espalier::solver {

/// Relaxed supernodes [AG89]: merges children into parents, bottom-up, any child and not
/// only the last, those first whose rows fill the parent's best.
///
/// Merging a child of k_c pivots and order n_c into a parent of k_p and n_p gives a front
/// of k_c + k_p pivots and order k_c + n_p, with k_c (n_p - (n_c - k_c)) more zeros in
/// the panel. Ties: the child of the lower number first.
///
/// It is merged where the zeros of the result are at most the part of its panel that the
/// options allow; and where the child is narrow, with a large contribution block to be
/// added up, as long as what such children bring stays below 2 %.
///
/// @param pool  shares out subtrees; then fronts must be in postorder
/// @par Cost  O(fronts log(fronts))
/// @par Test  zeros and orders equal those of brute-force symbolic elimination; the same
///            for any number of threads
[[nodiscard]] SupernodeTree amalgamate(SupernodeTree tree,
                                       const AmalgamationOptions& options,
                                       TaskPool& pool);
[[nodiscard]] SupernodeTree amalgamate(SupernodeTree tree,
                                       const AmalgamationOptions& options);

}  // namespace espalier::solver
