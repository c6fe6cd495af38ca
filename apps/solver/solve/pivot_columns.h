#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "solver/solve/triangular_solve.h"

namespace espalier::solver {

/// Which pivots of a front are meant: those of the blocks of its panel for which this
/// holds; those of the tail stand with the last block. Null: all.
using BlockChoice = std::function<bool(std::int32_t block)>;

template <class T>
[[nodiscard]] bool has_tail(const FactorView<T>& view, std::int32_t front,
                            const BlockChoice& chosen);

/// L U: of each row the column of its pivot, both in the order of elimination; empty for
/// other kinds, where it is that of the row.
/// @par Cost  O(n)
template <class T>
[[nodiscard]] std::vector<std::int32_t> pivot_columns(const FactorView<T>& view);
/// Those of some pivots of one front, in their places.
template <class T>
void pair_columns(const FactorView<T>& view, std::int32_t front,
                  const BlockChoice& chosen, std::vector<std::int32_t>& column_of_row);

}  // namespace espalier::solver
