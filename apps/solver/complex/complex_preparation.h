#pragma once

#include "solver/api/solver.h"
#include "solver/matrix/complex_kind.h"
#include "solver/matrix/complex_matrix.h"
#include "solver/matrix/real_form.h"
#include "solver/symbolic/analyse.h"

namespace espalier::solver {

/// What the real form of a complex matrix is factored with.
struct RealSystem {
  /// Of the real form: kind, real_form, order of elimination, kept variables. Its
  /// `prepare.given` is below.
  SolverOptions options;
  GivenPreparation given;
  AnalyseTimes seconds = {};  ///< of the analysis of order n
};

/// Scales, matches and orders a complex matrix as what it is, by the moduli of its n x n
/// entries, and gives each pair of columns of the real form the same: the pairs stay
/// together in the matching and in the order, which costs a quarter of what it would for
/// the real form, and the fill is that of the complex factor, in blocks of order 2.
///
/// - LU: row_of takes the pair of rows of each matched entry b + i c to the diagonal, in
///   the other order where |c| > |b|: the larger part is the pivot then.
/// - L D L^T: a complex column that is a pivot by itself is a pair of real ones where
///   |c| > |b| (kSymmetric); of a complex pair the parts are paired by their larger one.
/// - With kept variables (options.schur) the real form is prepared as any real matrix.
///
/// @param matrix  conforming(), and check()ed
/// @throws InvalidInput for options that do not fit the matrix
/// @par Cost  that of prepare() and analyse_pattern() of order n
[[nodiscard]] RealSystem prepare_complex(const ComplexMatrix& matrix, RealForm form,
                                         const SolverOptions& options);

}  // namespace espalier::solver
