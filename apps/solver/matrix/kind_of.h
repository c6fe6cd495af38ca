#pragma once

#include "solver/matrix/general_matrix.h"
#include "solver/matrix/matrix_kind.h"

namespace espalier::solver {

/// The kind of factorisation to try first.
///
/// - LU for a general matrix.
/// - Cholesky for a symmetric one unless an entry rules it out: a diagonal that is not
///   positive, or |a_ij|^2 >= a_ii a_jj. When a pivot fails all the same, the matrix is
///   not positive definite and L D L^T remains.
/// - L D L^T otherwise.
///
/// @par Cost  O(n + nonzeros)
[[nodiscard]] FactorKind kind_of(const InputMatrix& matrix);

/// @throws InvalidInput when the kind asks for a symmetric matrix and this one is not,
///         naming two entries with their values
void require_kind(const InputMatrix& matrix, FactorKind kind);

}  // namespace espalier::solver
