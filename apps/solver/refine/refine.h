#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "espalier/model/units.h"
#include "espalier/solver/results.h"
#include "solver/matrix/linear_operator.h"
#include "solver/matrix/matrix_part.h"
#include "solver/refine/residual.h"

namespace espalier::solver {

struct RefineOptions {
  Operation operation = Operation::kPlain;
  /// Of the system whose error counts; outlives refine().
  GivenUnknowns given = {};
  std::int32_t max_steps = 10;  ///< of plain refinement
  /// GMRES takes over where plain refinement ends above this error.
  double gmres_above = 1e-14;
  std::int32_t gmres_basis = 30;  ///< steps before a restart; 0: no GMRES
  std::int32_t gmres_cycles = 4;  ///< most starts
  /// That measure errors, each of other vectors, the caller's among them: to the same
  /// bits for any number. 1 where `a` is a part of a matrix.
  std::int32_t threads = 1;
};

/// Backward error up to which a first solution stays as it is: eight times the epsilon of
/// double precision, the rounding of a residual whose rows have some ten entries. Another
/// solve takes as long as a third of a small factorisation, and gains nothing that the
/// residual could tell (docs/decisions/0171).
constexpr double kEnoughToBegin = 8 * std::numeric_limits<double>::epsilon();

/// Iterative refinement [ADD89] of op(A) x = b for a block of right-hand sides: x is
/// corrected by solve(b - op(A) x) until its componentwise backward error is at most the
/// unit roundoff, to begin with kEnoughToBegin, or does not halve any more, or for
/// `max_steps` times; then in the same way by the rows whose r_i / w_i is large although
/// they do not count (BackwardError::strict), for as long as that helps. A vector that
/// has ended takes no part in the solves of the others. A vector that ended above
/// `gmres_above` goes on by itself with restarted flexible GMRES, under the same rule
/// cycle by cycle. Every vector keeps its best x; one that is not finite at the start is
/// taken to be 0.
///
/// `a`, `b`, `x` and `solve` may be of the scaled and permuted system: with `given` the
/// error is that of the system that was given.
///
/// Collective where `a` is a part of a matrix: with the same b, x and solutions at every
/// process all of them take the same steps, to the same bits.
///
/// @param b, x   `nrhs` vectors of the order of a, one after the other
/// @param solve  called with any number of vectors up to `nrhs`
/// @param space  for the residuals, of b's size then: kept, so that the next block of
///               vectors needs no fresh pages; null: memory of its own
/// @par Memory   refinement_bytes(), allocated inside; GMRES's only once it is needed
Refinement refine(const MatrixPart& a, std::span<const double> b, std::span<double> x,
                  std::int32_t nrhs, const BlockOperator& solve,
                  const RefineOptions& options = {},
                  std::vector<double>* space = nullptr);

/// The most that refine() allocates for itself:
/// 8 n (nrhs + 3 k + 2 gmres_basis + 1) bytes and a little, with k the lesser of
/// `threads` and nrhs.
/// @param systems  independent ones, of GivenUnknowns
[[nodiscard]] Bytes refinement_bytes(std::int32_t size, std::int32_t nrhs,
                                     const RefineOptions& options = {},
                                     std::int32_t systems = 1);

}  // namespace espalier::solver
