#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "solver/matrix/sparse_matrix.h"

namespace espalier::solver {

/// Pivots of order 1 and 2 of a symmetric matrix that have large entries.
struct SymmetricMatching {
  /// The column paired with i, or i itself: an involution.
  std::vector<std::int32_t> partner;
  /// Logarithms to base 2 of a symmetric scaling with |s_i a_ij s_j| <= 1, = 1 for the
  /// pairs of the matching that it comes from, but for rounding.
  std::vector<double> log;
  std::int32_t rank = 0;  ///< as Matching::rank
  /// Increasing: rows that are not matched. Without them and their columns the matrix is
  /// of full structural rank, and they have no entry in common.
  std::vector<std::int32_t> unmatched = {};
};

/// Matching and scaling of a symmetric matrix [DP05]. The cycles of
/// maximum_product_matching() are cut into neighbours that become 2 x 2 pivots; an odd
/// cycle leaves the column with the largest scaled diagonal entry alone. Of the two ways
/// to cut an even cycle the one with the larger determinants is taken. Scales are
/// geometric means, s_i^2 = r_i c_i.
///
/// @param weak_diagonal  two columns stay alone when the scaled diagonal entries of both
///                       are at least this in modulus: each may be a pivot, and a pair
///                       costs fill. Infinite: all are paired.
///
/// Structurally singular: the matching of the rows that are matched is used; the others
/// stay alone, scaled so that their largest entry is 1.
///
/// @param ask  as of maximum_product_matching()
/// @par Cost  that of maximum_product_matching(), at most twice, of both triangles
[[nodiscard]] SymmetricMatching symmetric_matching(const SymmetricMatrix& matrix,
                                                   double weak_diagonal,
                                                   const std::function<void()>& ask = {});

}  // namespace espalier::solver
