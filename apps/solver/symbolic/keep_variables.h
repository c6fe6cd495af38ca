#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solver/matrix/general_matrix.h"
#include "solver/scaling/prepare.h"
#include "solver/symbolic/analyse.h"

namespace espalier::solver {

/// Variables that an elimination leaves alone, and the others, which it eliminates. With
/// A = [A_ii A_ik; A_ki A_kk] in this order, what is left of the kept ones is
///   S = A_kk - A_ki A_ii^-1 A_ik,   the Schur complement of A_ii in A.
struct VariableSplit {
  std::vector<std::int32_t> inner;  ///< increasing
  std::vector<std::int32_t> kept;   ///< in the order in which S has them

  /// @throws InvalidInput naming the first variable that is out of range or there twice
  VariableSplit(std::int32_t size, std::span<const std::int32_t> kept_variables);

  /// An order of all variables without the kept ones, in the numbers of A_ii; of none:
  /// none.
  [[nodiscard]] std::vector<std::int32_t> inner_order(
      std::span<const std::int32_t> order) const;
};

/// A_ii. @par Cost  O(n + nonzeros)
[[nodiscard]] InputMatrix inner_block(const InputMatrix& matrix,
                                      const VariableSplit& split);

/// From A_ii as it was prepared (not in block form) and analysed to the whole of A: A_ii
/// is eliminated in the order and with the scaling that were found, and its fronts get
/// those kept rows that their columns reach,
///   rows(s) = rows_ii(s) + A_ki's rows in the pivots of s + kept rows of the children,
/// which changes nothing of the fill of A_ii. Kept rows and columns are scaled so that
/// their largest entries are near 1: pivots are tested over them, too.
///
/// `analysis` and `prepared` get the numbers of A's variables, Symbolic::kept() and the
/// matrix with its values; A_kk is in it, but no front assembles it.
///
/// @par Cost  O(n + nonzeros log(nonzeros of a column) + rows of all fronts)
/// @par Test  check_symbolic() on [A_ii A_ik; A_ki full]; Schur complements, dense
void keep_variables(const InputMatrix& matrix, const VariableSplit& split,
                    PreparedMatrix& prepared, Analysis& analysis);

}  // namespace espalier::solver
