#pragma once

#include <optional>

#include "solver/matrix/complex_matrix.h"
#include "solver/matrix/matrix_kind.h"

namespace espalier::solver {

/// The symmetry that a matrix is factored with by a kind of factorisation.
/// @param kind  none: L D L^T or Cholesky where the symmetry allows it
/// @throws InvalidInput where the kind asks for a symmetry that the matrix does not have
[[nodiscard]] ComplexSymmetry symmetry_for(const ComplexMatrix& matrix,
                                           std::optional<FactorKind> kind);

/// The matrix with both triangles for kGeneral, else its lower one.
/// @throws InvalidInput for a matrix without the symmetry
[[nodiscard]] ComplexMatrix conforming(ComplexMatrix&& matrix, ComplexSymmetry wanted);

}  // namespace espalier::solver
