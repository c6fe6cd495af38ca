#pragma once

#include <cstdint>
#include <limits>

#include "espalier/model/units.h"
#include "solver/matrix/linear_operator.h"
#include "solver/matrix/matrix_part.h"

namespace espalier::solver {

/// What null_quotient() finds.
struct NullQuotient {
  double first = 1;  ///< after inverse iteration
  double last = 1;   ///< after corrections; 0: a vector was not finite
};

/// How near a matrix is to a singular one, in units that no scaling of rows or columns
/// changes: for vectors w and v, about its left and right null vectors,
///   sum_i |w_i| |A v|_i  /  sum_i |w_i| (|A| |v|)_i.
///
/// With the exact vectors of a singular matrix it is 0. The pivot of an elimination that
/// ends with w^T A v has a rounding error of about u sum |w| |A| |v|: where the quotient
/// is of the order of the unit roundoff, that pivot is rounding alone, and entries of A
/// changed by that part of themselves make it singular. Where it is not, the matrix is
/// not singular to working precision, however small the pivot.
///
/// The vectors are those of inverse iteration from a vector drawn at random, the same in
/// every run, then corrected by v -= solve(A v) until the quotient settles: null vectors
/// of A itself, not of what was factored in its place, without what inverse iteration
/// leaves of other vectors. Those may weigh more than the null vector in rows of large
/// entries, where they make the quotient look small. Collective where the matrix is a
/// part of one.
///
/// Where all entries of A between rows of w and columns of v are zeros, as in a symmetric
/// matrix with two equal rows that have no diagonal, both sums are what rounding leaves
/// in entries of v that should be zeros. So at last these are made zeros: if then
///   max_i |A v|_i / (|A| |v|)_i
/// is less than the quotient, it takes its place. No vector makes that small by chance.
///
/// @param symmetric  then w is v, and solve_transposed is not called
/// @return ones at order 0. Where the last is zero and the first is too, it is the
///         smallest pivot that was taken as it is which is rounding.
/// @par Cost    3 solves and, up to six times, 2 more and 4 products; symmetric: half;
///              two products at last
/// @par Memory  singularity_bytes(), allocated inside
[[nodiscard]] NullQuotient null_quotient(const MatrixPart& a, bool symmetric,
                                         const BlockOperator& solve,
                                         const BlockOperator& solve_transposed);

/// The most that null_quotient() allocates: 32 n bytes.
[[nodiscard]] Bytes singularity_bytes(std::int32_t size);

/// Quotients up to this are zero, for a matrix in double precision.
inline constexpr double kZeroQuotient = 8 * std::numeric_limits<double>::epsilon();

}  // namespace espalier::solver
