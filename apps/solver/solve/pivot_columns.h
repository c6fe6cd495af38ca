#pragma once

#include <cstdint>
#include <vector>

#include "solver/solve/triangular_solve.h"

namespace espalier::solver {

/// L U: of each row the column of its pivot, both in the order of elimination; empty for
/// other kinds, where it is that of the row.
/// @par Cost  O(n)
template <class T>
[[nodiscard]] std::vector<std::int32_t> pivot_columns(const FactorView<T>& view);

}  // namespace espalier::solver
