#pragma once

#include <array>
#include <cstdint>

#include "solver/symbolic/supernodes.h"

namespace espalier::solver {

/// When a child front is merged into its parent: when the panel of the merged front holds
/// at most `zeros` of explicit zeros, as a fraction, by the first limit whose `pivots` is
/// not below those of the merged front.
///
/// The time of a sequential factorisation hardly depends on limits near the defaults, so
/// these keep zeros few. Narrow fronts, of at most 256 pivots with at least four rows of
/// contribution block for each, may hold 15 % whatever the limits: there the additions
/// into parents cost more. Zeros: 4 to 5 % of the factor on 7-point grids, 12 % on
/// 5-point grids.
struct AmalgamationOptions {
  struct Limit {
    std::int32_t pivots;
    double zeros;
  };
  bool relaxed = true;  ///< false: only merges that add no zero
  std::array<Limit, 3> limits = {{{4, 0.60}, {16, 0.20}, {48, 0.10}}};
  double zeros_beyond = 0.02;  ///< of merged fronts with more pivots than any limit
};

/// Relaxed supernodes [AG89]: merges children into parents, bottom-up, any child and not
/// only the last, those first whose rows fill the parent's best.
///
/// Merging a child of k_c pivots and order n_c into a parent of k_p and n_p gives a front
/// of k_c + k_p pivots and order k_c + n_p, with k_c (n_p - (n_c - k_c)) more zeros in
/// the panel. Ties: the child of the lower number first.
///
/// @par Cost  O(fronts log(fronts))
/// @par Test  zeros and orders equal those of brute-force symbolic elimination
[[nodiscard]] SupernodeTree amalgamate(SupernodeTree tree,
                                       const AmalgamationOptions& options);

}  // namespace espalier::solver
