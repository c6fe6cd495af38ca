#pragma once

#include <optional>

#include "solver/matrix/complex_matrix.h"
#include "solver/matrix/matrix_kind.h"
#include "solver/matrix/real_form.h"

namespace espalier::solver {

/// The form that a matrix takes for a kind of factorisation.
/// @param kind  none: L D L^T or Cholesky where the symmetry allows it
/// @throws InvalidInput where the kind asks for a symmetry that the matrix does not have
[[nodiscard]] RealForm real_form_for(const ComplexMatrix& matrix,
                                     std::optional<FactorKind> kind);

/// The matrix as real_form() takes it: with both triangles for kGeneral, else its lower
/// one. @throws InvalidInput for a matrix without the symmetry of the form
[[nodiscard]] ComplexMatrix conforming(ComplexMatrix&& matrix, RealForm form);

}  // namespace espalier::solver
