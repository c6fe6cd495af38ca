#pragma once

#include <cstdint>

#include "solver/matrix/complex_matrix.h"
#include "solver/matrix/general_matrix.h"

namespace espalier::solver {

// The oracle of what is factored in complex numbers: the same system in real ones.

/// How a real matrix of order 2 n stands for a complex one of order n.
enum class RealForm : std::int8_t {
  kNone,       ///< it does not
  kGeneral,    ///< blocks [b -c; c b]
  kHermitian,  ///< the same, of a Hermitian matrix: it is symmetric
  kSymmetric,  ///< blocks [b -c; -c -b], of a complex symmetric matrix: it is symmetric
};

/// The real matrix of a complex one, each entry a_ij = b + i c a block of order 2, whose
/// rows and columns 2 i, 2 i + 1 and 2 j, 2 j + 1 stand for real and imaginary parts:
/// vectors of complex numbers, parts in turn, are those of the real system as they are.
///
/// Derivation. With a = b + i c and x = y + i z, a x has the parts b y - c z and
/// c y + b z, so that
///
///   [b -c; c b] (y; z) = (Re a x; Im a x)                              kGeneral
///
/// If A is Hermitian, a_ji = b - i c, and the block opposite is [b c; -c b], the
/// transposed one: the real matrix R is symmetric. It is positive definite where A is, as
/// (y; z)^T R (y; z) = Re x^H A x = x^H A x; every eigenvalue of A is one of R, twice.
///
/// If A is symmetric, a_ji = a_ij, and [b -c; c b] stands opposite to itself: R is not
/// symmetric. The equation for the imaginary part times -1 makes it so:
///
///   [b -c; -c -b] (y; z) = (Re a x; -Im a x)                           kSymmetric
///
/// The right-hand side is that of the conjugated b then, the unknowns are the same. Half
/// of the eigenvalues are negative, whatever A is.
///
/// det R = |det A|^2, up to the sign (-1)^n of kSymmetric, and R's null space has twice
/// the dimension of A's. What is zero in a block is stored all the same, so that both
/// columns have one pattern; of kHermitian and kSymmetric the result is the lower
/// triangle.
///
/// @param form  kGeneral: A has both triangles; else its lower one (ComplexMatrix)
/// @par Cost    O(n + nonzeros)
/// @par Memory  the result: 48 bytes an entry where A has 20
[[nodiscard]] InputMatrix real_form(const ComplexMatrix& matrix, RealForm form);

}  // namespace espalier::solver
