#pragma once

#include "solver/scaling/prepare.h"

namespace espalier::solver {

/// Prepares a symmetric matrix for L D L^T as block triangular: the pairs of
/// symmetric_singletons() have their rows exchanged and are blocks of order 1, what is
/// left of the matrix is one more, matched and scaled as any. Every entry outside is in
/// the coupling, and row_of says which rows were exchanged.
///
/// @param prepared  the matrix is in it
/// @return whether it was done. Not where fewer than a quarter of the variables are in
///         pairs, each of which is a block of its own in every solve; nor where the rest
///         is structurally singular or an entry would leave the range of double precision
/// @par Cost  O(n + nonzeros), and that of symmetric_matching() of what is left
[[nodiscard]] bool prepare_singletons(PreparedMatrix& prepared, double weak_diagonal,
                                      const std::function<void()>& ask = {});

}  // namespace espalier::solver
