#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/model/units.h"
#include "solver/matrix/linear_operator.h"
#include "solver/refine/residual.h"

namespace espalier::solver {

/// Flexible GMRES [Saa93] for corrections op(A) d = r, preconditioned from the right by a
/// factorisation that need not be exact, nor the same from step to step: single precision
/// [AD09], perturbed pivots.
///
/// Rows are divided by the denominators of the componentwise backward error, so what it
/// minimises, || D^-1 (r - op(A) d) ||_2, bounds the error of x + d (as far as the
/// denominators stay the same), which the plain 2-norm does not.
class Gmres {
 public:
  /// @param basis  most steps of a correction, at least 1
  Gmres(std::int32_t size, std::int32_t basis);

  /// r := d. Ends when the bound is at most `target`, after `basis` steps, or when a step
  /// brings nothing more.
  ///
  /// @param measure  of the x that r belongs to, just evaluated
  /// @return steps made, one solve each
  /// @par Cost  a step k: a solve, a product with A, 4 k n flops
  std::int32_t correct(const ErrorMeasure& measure, std::span<double> r,
                       const BlockOperator& solve, double target);

  /// The most that an object allocates: 2 basis + 1 vectors and a little.
  [[nodiscard]] static Bytes bytes(std::int32_t size, std::int32_t basis);

 private:
  std::span<double> v(std::int32_t k);  // orthonormal, rows scaled
  std::span<double> z(std::int32_t k);  // about op(A)^-1 D v_k
  double& h(std::int32_t i, std::int32_t k);

  bool expand(const ErrorMeasure& measure, const BlockOperator& solve, std::int32_t k);
  bool orthonormalise(std::int32_t k);
  void rotate(std::int32_t k);
  void combine(std::int32_t steps, std::span<double> d);

  std::int32_t size_, basis_;
  std::vector<std::vector<double>> v_, z_;  // as many as steps have needed so far
  std::vector<double> h_;  // Hessenberg, then triangular; columns of basis + 1
  std::vector<double> cosine_, sine_, g_;  // rotations; right-hand side after them
};

}  // namespace espalier::solver
