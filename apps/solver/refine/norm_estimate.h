#pragma once

#include <cstdint>

#include "espalier/model/numbers.h"
#include "espalier/model/units.h"
#include "solver/matrix/linear_operator.h"

namespace espalier::solver {

/// A lower bound of ||B||_1, seldom below a third of it, for a B that is known by
/// products only: Hager's method for blocks of two vectors [HT00], which are there one
/// after the other. The vectors drawn at random are the same in every run. Exact up to
/// order 4; infinite when a product is not finite.
///
/// @param apply, apply_transposed  a vector := B times it, B^T times it; up to order 4
///        a block of as many
/// @param enough  a norm above it need not be known better
/// @par Cost    at most 12 products of B and 10 of B^T with a vector; mostly 4 of each
/// @par Memory  norm_estimate_bytes()
[[nodiscard]] double estimate_norm1(std::int32_t size, const BlockOperator& apply,
                                    const BlockOperator& apply_transposed,
                                    double enough = kInfinity);

/// The most that estimate_norm1() allocates: 8.5 n bytes and a little.
[[nodiscard]] Bytes norm_estimate_bytes(std::int32_t size);

}  // namespace espalier::solver
