#pragma once

#include <cstdint>

#include "solver/matrix/linear_operator.h"

namespace espalier::solver {

/// A lower bound of ||B||_1, seldom below a third of it, for a B that is known by
/// products only: Hager's method for blocks of two vectors [HT00]. The vectors drawn at
/// random are the same in every run. Exact up to order 4; infinite when a product is not
/// finite.
///
/// @param apply, apply_transposed  a block := B times it, B^T times it
/// @par Cost    at most 6 products of B and 5 of B^T with two vectors; mostly 2 of each
/// @par Memory  18 n bytes
[[nodiscard]] double estimate_norm1(std::int32_t size, const BlockOperator& apply,
                                    const BlockOperator& apply_transposed);

}  // namespace espalier::solver
