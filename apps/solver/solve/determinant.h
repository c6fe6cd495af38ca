#pragma once

#include <complex>
#include <cstdint>
#include <span>

#include "solver/solve/triangular_solve.h"

namespace espalier::solver {

/// A determinant, mantissa 2^exponent: products of many pivots leave the range of double
/// precision long before they mean nothing. 0.5 <= |mantissa| < 1, or both are 0.
///
/// Of a complex matrix times `phase`, of modulus 1.
struct Determinant {
  double mantissa = 0.5;
  std::int64_t exponent = 1;
  std::complex<double> phase = 1;

  /// @param factor  finite
  void multiply(double factor);
  void multiply(std::complex<double> factor);
  [[nodiscard]] int sign() const { return (mantissa > 0) - (mantissa < 0); }
  /// Natural logarithm of the modulus; of 0: minus infinity.
  [[nodiscard]] double log_modulus() const;
};

/// 1 for an even permutation, -1 for an odd one. @par Cost  O(n) time, n bits
[[nodiscard]] int parity(std::span<const std::int32_t> permutation);

/// Of the matrix that was factored, in the order of elimination: the product of the
/// pivots (Cholesky: of their squares; 2 x 2 pivots: their determinants), and for LU the
/// sign of the permutation that takes the row of each pivot to its column. Pivots that
/// were replaced count as what replaced them. Where the factor is of a leading block
/// (Symbolic::inner), the determinant is that block's.
///
/// @par Cost  O(n), and the panels that are in the file are read once, a node at a time
/// @par Test  Laplace's expansion on small matrices, products of diagonals, exp of sums
template <class T>
[[nodiscard]] Determinant determinant(const FactorView<T>& view);

}  // namespace espalier::solver
