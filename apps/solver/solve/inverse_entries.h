#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "solver/solve/triangular_solve.h"

namespace espalier::solver {

/// Where an entry of the inverse is, in the order of elimination.
struct InversePlace {
  std::int32_t row, column;
};

/// Entries of A^-1, as the factor has it: the right-hand side is a column of the unit
/// matrix, which touches the fronts from its own to the root alone, and the entry asks
/// for the fronts from the root to its own alone. Entries of kept variables are 0.
/// @param places  by columns
/// @param at_once  columns that are found together: two vectors for each
/// @param values  an entry for each, of complex ones real and imaginary part
/// @param progress  told the part of them that is found, now and then; what it throws is
///                  thrown here; may be empty
/// @throws Error when a panel in the file cannot be read
/// @par Cost  for `at_once` columns 2 flops for each entry of the factor in the fronts on
///            their ways, and as much again for the ways of their entries
/// @par Test  InverseEntries.*
template <class T>
void inverse_entries(const FactorView<T>& view, std::span<const InversePlace> places,
                     std::int32_t at_once, std::span<double> values,
                     const std::function<void(double)>& progress = {});

}  // namespace espalier::solver
