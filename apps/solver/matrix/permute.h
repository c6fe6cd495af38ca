#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solver/matrix/general_matrix.h"
#include "solver/matrix/sparse_matrix.h"

namespace espalier::solver {

/// inverse[permutation[k]] = k.
[[nodiscard]] std::vector<std::int32_t> inverse_permutation(
    std::span<const std::int32_t> permutation);

/// result[k] = values[order[k]].
[[nodiscard]] std::vector<std::int32_t> composed(std::span<const std::int32_t> values,
                                                 std::span<const std::int32_t> order);

/// Puts the rows of each column in increasing order; equal rows keep their order.
///
/// @par Cost  a sort of each column that is out of order, in parallel
void sort_columns(SymmetricMatrix& matrix);
void sort_columns(GeneralMatrix& matrix);
void sort_columns(SquareMatrix& matrix);

/// P A P^T, lower triangle by columns with increasing rows; permutation[new] = old. An
/// entry whose new place is in the other triangle changes sides with its opposite value.
///
/// @par Cost  O(nonzeros) and a sort of each column, in parallel; memory: the result,
///            4 n bytes and one column
[[nodiscard]] SquareMatrix permuted(const SquareMatrix& matrix,
                                    std::span<const std::int32_t> permutation);
[[nodiscard]] SymmetricMatrix permuted(const SymmetricMatrix& matrix,
                                       std::span<const std::int32_t> permutation);

}  // namespace espalier::solver
