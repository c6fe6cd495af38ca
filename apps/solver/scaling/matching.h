#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "solver/matrix/general_matrix.h"

namespace espalier::solver {

/// Columns paired with rows so that the product of the entries is largest, and scale
/// factors from the same computation.
struct Matching {
  /// Row of each column: a permutation. `rank` columns have a nonzero there; what is left
  /// of the rows and columns is paired on the diagonal where it can be, then in order.
  std::vector<std::int32_t> row_of_column;
  /// Whether the column's pair is a nonzero of the matrix.
  std::vector<bool> matched;
  std::int32_t rank = 0;  ///< of the pattern: the most nonzeros that can be paired
  /// Logarithms to base 2 of row and column scales r and c: |r_i a_ij c_j| <= 1 for every
  /// entry and = 1 for the pairs, but for rounding.
  std::vector<double> row_log, column_log;
};

/// Matching of greatest product [DK01]: with c_ij = log(max_k |a_kj|) - log |a_ij|, the
/// perfect matching of least sum, by shortest augmenting paths. Duals u, v with
/// u_i + v_j <= c_ij, equal on the matching, are the logarithms of the scales. Ties leave
/// the diagonal where it is. Zeros in the pattern are not entries.
///
/// When the pattern has no perfect matching, as many columns as possible are matched, and
/// no permutation of the matched rows and columns has a larger product.
///
/// @param ask  called often while paths are searched; empty: not called
/// @throws InvalidInput naming an entry that is not finite; what `ask` throws
/// @par Cost  O(n + nonzeros) for most columns, which are matched when their duals are
///            set; a shortest path each for the others, O(nonzeros) at most: where that
///            is much, ProductAssignment makes paths shorter. Columns without a path
///            share one search for each row that is reached.
/// @par Memory  8 bytes a nonzero, 60 a row; 20 and 70 where paths are made shorter
/// @par Test  equals brute force over all permutations of small matrices
[[nodiscard]] Matching maximum_product_matching(const GeneralMatrix& matrix,
                                                const std::function<void()>& ask = {});

/// Structural rank: the most entries that are not zero in rows and columns of their own.
/// @par Cost  O(n + nonzeros) where no entry of the diagonal is zero, else that of
///            maximum_product_matching()
[[nodiscard]] std::int32_t structural_rank(const GeneralMatrix& matrix,
                                           const std::function<void()>& ask = {});
/// The same, where `rank` entries that are not zero were found, of all entries.
/// @tparam Matrix  GeneralMatrix or SymmetricMatrix
/// @par Cost  O(nonzeros) where the rank is full or no entry is zero
template <class Matrix>
[[nodiscard]] std::int32_t pattern_rank(const Matrix& matrix, std::int32_t rank,
                                        const std::function<void()>& ask = {});
/// Structural rank of both triangles, which are put together only where the diagonal has
/// a zero.
[[nodiscard]] std::int32_t structural_rank(const SymmetricMatrix& matrix,
                                           const std::function<void()>& ask = {});

}  // namespace espalier::solver
