#pragma once

#include "solver/matrix/sparse_matrix.h"
#include "solver/symbolic/symbolic.h"

namespace espalier::solver {

/// Proves that the fronts can factorise the matrix, sharing no code with the analysis:
/// the permutation is one; pivots cover every column once; fronts are in postorder;
/// rows_of are increasing; no parent is beyond the front of the first of them; every
/// entry of the matrix lies in the front of its column; and every front's contribution
/// block fits in its parent's front.
///
/// @throws InvalidInput naming the first front or entry that breaks a rule
/// @par Cost  O(nonzeros + rows_of)
void check_symbolic(const Symbolic& symbolic, const SymmetricMatrix& permuted);

}  // namespace espalier::solver
