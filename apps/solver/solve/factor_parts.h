#pragma once

#include "espalier/solver/results.h"
#include "solver/solve/triangular_solve.h"

namespace espalier::solver {

/// x := P^-1 b, or P^-T b, of one part P of the factor, in elimination order, by one
/// thread: A = L L^T, L D L^T or L U, with the rows and columns of pivots where they are
/// in A, so that L is a triangular matrix whose rows and columns have been permuted
/// alike. Left and right of L, and left of U, there are rows of A; right of U columns.
/// Of Hermitian matrices P^-T is P^-H. Kept variables are 0. D is that of L D L^T alone,
/// and U that of L U.
/// @param b  overwritten; may be x but for L U
/// @param ask  called between fronts, see PacedAsk; what it throws is thrown: b and x are
///             of no use then
/// @throws Error when a panel in the file cannot be read
/// @par Cost  2 flops for each entry of the part and vector
/// @par Test  FactorParts.*
template <class T>
void solve_part(const FactorView<T>& view, FactorPart part, bool transposed,
                const Vectors<T>& b, const Vectors<T>& x,
                const std::function<void()>& ask = {});

}  // namespace espalier::solver
