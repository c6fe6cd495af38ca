#pragma once

#include <complex>
#include <cstdint>
#include <span>

#include "espalier/solver/results.h"
#include "solver/solve/pivot_columns.h"
#include "solver/solve/triangular_solve.h"

namespace espalier::solver {

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

/// A factor of it, without that sign: some pivots of one front.
/// @param storage  of the front's node: NodeStorage
template <class T>
void multiply_pivots(const FactorView<T>& view, std::int32_t front, const T* storage,
                     const BlockChoice& chosen, Determinant& product);

}  // namespace espalier::solver
