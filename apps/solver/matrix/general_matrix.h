#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "espalier/solver/matrix.h"
#include "solver/matrix/sparse_matrix.h"

namespace espalier::solver {

[[nodiscard]] std::int32_t order_of(const InputMatrix& matrix);

/// The transposed matrix. Rows of a column need not be increasing in `matrix`; in the
/// result they are.
///
/// @par Cost  O(n + nonzeros)
[[nodiscard]] GeneralMatrix transposed(const GeneralMatrix& matrix);

/// Whether the rows of every column are increasing.
[[nodiscard]] bool has_sorted_columns(const GeneralMatrix& matrix);
/// Whether no entry is off the diagonal.
[[nodiscard]] bool is_diagonal(const GeneralMatrix& matrix);

/// Both triangles of a symmetric matrix.
///
/// @par Cost  O(n + nonzeros)
[[nodiscard]] GeneralMatrix expanded(const SymmetricMatrix& matrix);

/// The matrix whose lower triangle is `lower` and whose strictly upper triangle is the
/// transposed `upper`, which has no diagonal. Takes them over.
///
/// @par Cost  O(n + nonzeros)
[[nodiscard]] GeneralMatrix joined(SymmetricMatrix&& lower, SymmetricMatrix&& upper);

/// Where the two triangles of joined() are not equal first; an entry that is not stored
/// is zero.
struct TriangleDifference {
  std::int32_t row, column;  ///< row > column
  double below, above;       ///< values at (row, column) and (column, row)
};
[[nodiscard]] std::optional<TriangleDifference> first_difference(
    const SymmetricMatrix& lower, const SymmetricMatrix& upper);

/// joined(), or `lower` when the triangles are equal, value by value.
[[nodiscard]] InputMatrix from_triangles(SymmetricMatrix&& lower,
                                         SymmetricMatrix&& upper);

/// The matrix with `lower`, which has no diagonal, and its negative across.
[[nodiscard]] GeneralMatrix skew_symmetric(SymmetricMatrix&& lower);

/// A general matrix on the pattern of B + B^T with a zero where B has none; `upper` is
/// filled, whether B is symmetric or not.
///
/// @par Cost  O(n + nonzeros); rows of a column need not be increasing
[[nodiscard]] SquareMatrix symmetrised(const GeneralMatrix& matrix);
[[nodiscard]] SquareMatrix symmetrised(GeneralMatrix&& matrix);

}  // namespace espalier::solver
