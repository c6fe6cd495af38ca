#pragma once

#include <span>

#include "solver/matrix/complex_matrix.h"
#include "solver/matrix/coupling.h"
#include "solver/scaling/prepare.h"

namespace espalier::solver {

/// |a_ij|, by which a complex matrix is scaled, matched and ordered; on the diagonal of a
/// Hermitian one a_ii itself, whose sign tells its kind.
[[nodiscard]] InputMatrix moduli(const ComplexMatrix& matrix);

/// refill() with complex values: `target`, of the pattern of moduli(), becomes complex.
///
/// @param order  Symbolic::permutation of the analysis; not empty but for order 0
/// @param coupling  of the target, in its order; null: there is none
/// @throws InvalidInput when the matrix has an entry outside the pattern or another
///         order; `target` is then unusable
/// @par Cost  O(nonzeros log(nonzeros of a column))
void refill(SquareMatrix& target, const PreparedMatrix& prepared,
            std::span<const std::int32_t> order, const ComplexMatrix& matrix,
            Coupling* coupling = nullptr);

}  // namespace espalier::solver
