#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solver/matrix/general_matrix.h"
#include "solver/matrix/sparse_matrix.h"

namespace espalier::solver {

/// Pattern of the strictly lower triangle by rows: row i lists columns k < i with a
/// possible nonzero, in no order.
struct LowerRows {
  std::int32_t size = 0;
  std::vector<std::int64_t> row_start;  ///< size + 1 offsets
  std::vector<std::int32_t> column;

  [[nodiscard]] std::span<const std::int32_t> columns_of(std::int32_t row) const {
    return std::span(column).subspan(row_start[row], row_start[row + 1] - row_start[row]);
  }
};

/// inverse[permutation[k]] = k.
[[nodiscard]] std::vector<std::int32_t> inverse_permutation(
    std::span<const std::int32_t> permutation);

/// result[k] = values[order[k]].
[[nodiscard]] std::vector<std::int32_t> composed(std::span<const std::int32_t> values,
                                                 std::span<const std::int32_t> order);

/// Strictly lower pattern of P A P^T by rows; permutation[new] = old.
///
/// @par Cost  O(n + nonzeros)
[[nodiscard]] LowerRows permuted_rows(const SymmetricMatrix& matrix,
                                      std::span<const std::int32_t> permutation);

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
