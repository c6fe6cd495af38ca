#pragma once

#include <span>

#include "solver/solve/triangular_solve.h"

namespace espalier::solver {

/// What the elimination has added to the kept variables' part of the matrix, -A_ki
/// A_ii^-1 A_ik: all of it, symmetric or not, column-major, in the order of Symbolic's
/// last rows.
/// @param block  kept() squared entries, of complex ones real and imaginary part
/// @par Cost  O(kept squared)
template <class T>
void read_kept_block(const FactorView<T>& view, std::span<double> block);

}  // namespace espalier::solver
