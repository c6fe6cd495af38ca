#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solver/matrix/general_matrix.h"

namespace espalier::solver {

/// Rows of a symmetric matrix that one unknown after the other can be substituted from: a
/// row r without a diagonal entry that has one entry left, a_rj, gives x_j; then both
/// variables are taken out of the matrix, and x_r follows from row j when all others are
/// known. With row r in the place of row j and the other way round the matrix is block
/// triangular, and the pairs are blocks of order 1 in it: no fill, no search for pivots.
///
///   example: (4 1 2; 1 . .; 2 . 3)     row 1 has a_10 alone: pair (1, 0), 2 is left
///
/// Fixed variables of optimisers, dynamics of optimal control and saddle points whose
/// constraints are triangular are of this kind.
struct SymmetricSingletons {
  std::vector<std::int32_t> partner;  ///< of each variable; itself where it is left
  std::vector<std::int32_t> row;      ///< of each pair its row r, in order
};

/// Entries are what is stored: a zero on the diagonal is one, as another matrix of the
/// same pattern may have more there; a pair needs one that is finite and not zero.
///
/// @return no pairs, too, where a row is left without any entry: the matrix is singular
/// @par Cost  O(n + nonzeros)
/// @par Test  equals a search over all rows, again and again, on small random matrices
[[nodiscard]] SymmetricSingletons symmetric_singletons(const GeneralMatrix& both);

/// Logarithms to base 2 of a symmetric scaling s, given that of the variables that are
/// left: |s_i a_ij s_j| = 1 for the pairs and, but for rounding, at most 1 elsewhere, as
/// symmetric_matching() scales. Of two variables of a pair the row's follows from the
/// other's, which is no less than rows of later pairs ask for.
///
/// @param log  of all variables; read where they are left, set elsewhere
/// @par Cost  O(n + nonzeros)
void scale_singletons(const GeneralMatrix& both, const SymmetricSingletons& singletons,
                      std::span<double> log);

}  // namespace espalier::solver
