#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/solver/options.h"
#include "solver/matrix/coupling.h"
#include "solver/matrix/general_matrix.h"
#include "solver/matrix/matrix_kind.h"
#include "solver/matrix/sparse_matrix.h"

namespace espalier::solver {

/// B = P Dr A Dc, the matrix that is factored, before its fill-reducing order. A x = b is
///   B y = c   with c_i = (Dr b)_{row_of[i]} and x = Dc y: ScaledPermutation.
/// Scale factors are powers of two, and none where an entry would leave the range of
/// double precision: B has A's digits.
struct PreparedMatrix {
  FactorKind kind = FactorKind::kCholesky;
  /// LU: on the pattern of B + B^T, `upper` filled; otherwise symmetric. Where there is a
  /// coupling, of B's diagonal blocks alone.
  SquareMatrix matrix;
  /// By rows and by columns of A. Both filled or both empty: all ones. Equal unless LU.
  std::vector<double> row_scale, column_scale;
  /// Row i of B is row row_of[i] of A; empty: the same. LU by matching, and L D L^T with
  /// singletons, whose rows are exchanged in pairs.
  std::vector<std::int32_t> row_of;
  /// The column that the matching pairs with i as a 2 x 2 pivot, or i; empty: none.
  /// L D L^T by matching only.
  std::vector<std::int32_t> partner;
  /// Entries that are not zero and can stand on the diagonal at once; of L L^T the order.
  std::int32_t structural_rank = 0;
  /// The same of whatever values: of all entries that were given, zeros among them.
  std::int32_t pattern_rank = 0;
  /// The entries of B between its strong components, or of pairs of singletons, and those
  /// of unmatched variables; of order 0: B is irreducible, or not cut.
  Coupling coupling = {};
};

/// Scales a matrix for its factorisation and, for LU, moves large entries to the
/// diagonal. Takes the matrix over.
///
/// Cholesky with kAuto: equilibrated when the diagonal spans more than 1e8, else kNone.
///
/// L D L^T, LU: of a structurally singular matrix, whatever its values, what a maximum
/// matching leaves out is in the coupling (Coupling::unmatched). Zeros that were given
/// may be other numbers later: where some of them would raise the rank all stays
/// together.
///
/// @param ask  as of maximum_product_matching()
/// @throws InvalidInput as require_kind(); what `ask` throws
/// @par Cost  O(n + nonzeros), and that of maximum_product_matching()
[[nodiscard]] PreparedMatrix prepare(InputMatrix&& matrix, FactorKind kind,
                                     const PrepareOptions& options = {},
                                     const std::function<void()>& ask = {});

/// Puts the values of another matrix on a prepared pattern, with the scaling and the row
/// order of `prepared`: a factorisation of equal structure can be repeated.
///
/// @param target  prepared.matrix, or Analysis::permuted made of it
/// @param order   Symbolic::permutation of the analysis: target's index k is column
///                order[k] of B; empty: the same
/// @param matrix  an entry that it lacks is zero
/// @throws InvalidInput when the matrix has an entry outside the pattern, another order,
///                      or is not symmetric and the kind asks for it; `target` is then
///                      unusable
/// @par Cost  O(nonzeros log(nonzeros of a column))
/// @param coupling  of the target, in its order; null: there is none
void refill(SquareMatrix& target, const PreparedMatrix& prepared,
            std::span<const std::int32_t> order, const InputMatrix& matrix,
            GeneralMatrix* coupling = nullptr);
void refill(PreparedMatrix& prepared, const InputMatrix& matrix);

// The steps of refill(), for a target that is not here.

/// An entry of A, scaled, where it stands in the matrix that is factored: in the lower
/// triangle or opposite.
template <class T>
struct Placed {
  std::int32_t row, column;
  std::int32_t given_row, given_column;  ///< in A
  T value;
};
using PlacedEntry = Placed<double>;

/// @throws InvalidInput when the matrix is of another order than the pattern or not
///         symmetric where the kind asks for it
void check_refill(const PreparedMatrix& prepared, std::int32_t size,
                  const InputMatrix& matrix);
/// Calls visit with every entry, both triangles, by columns of A.
/// @param order  of the analysis, not empty but for order 0
/// @throws InvalidInput before any call, as check_refill()
void place_entries(const PreparedMatrix& prepared, std::span<const std::int32_t> order,
                   const InputMatrix& matrix,
                   const std::function<void(const PlacedEntry&)>& visit);
/// Zeros, of complex entries in both parts.
void clear_values(SquareMatrix& target);
/// @return false: the entry is outside the pattern
[[nodiscard]] bool put_entry(SquareMatrix& target, const PlacedEntry& entry);
/// @param coupling  of order 0: there is none
[[nodiscard]] bool put_entry(GeneralMatrix& coupling, const PlacedEntry& entry);
/// What refill() throws then; row and column of A, 0-based.
[[nodiscard]] InvalidInput outside_pattern(std::int32_t row, std::int32_t column);

}  // namespace espalier::solver
