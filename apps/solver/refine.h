#pragma once

#include <functional>
#include <span>

#include "solver/sparse_matrix.h"

namespace espalier::solver {

/// r := b - A x. Products and sums in double precision.
/// @par Cost  4 flops an entry of the stored triangle
void residual(const SymmetricMatrix& a, std::span<const double> x,
              std::span<const double> b, std::span<double> r);

/// Componentwise backward error [OP64]: max_i |b - A x|_i / (|A| |x| + |b|)_i, the least
/// e for which x solves a system whose every entry is within a factor 1 ± e. Rows whose
/// denominator is zero count only when their residual is not zero (infinite then).
/// `scratch`: as long as x.
[[nodiscard]] double backward_error(const SymmetricMatrix& a, std::span<const double> x,
                                    std::span<const double> b, std::span<const double> r,
                                    std::span<double> scratch);

struct Refinement {
  double backward_error = 0;
  std::int32_t steps = 0;  ///< corrections made
};

/// Iterative refinement [ADD89]: corrects x by solve(r) until the backward error is at
/// most the unit roundoff, does not halve any more, or `max_steps` is reached; keeps the
/// best x. `solve` maps r to A^-1 r in place.
/// `scratch`: three vectors as long as x, one after the other.
Refinement refine(const SymmetricMatrix& a, std::span<const double> b,
                  std::span<double> x, std::span<double> scratch,
                  const std::function<void(std::span<double>)>& solve,
                  std::int32_t max_steps = 5);

}  // namespace espalier::solver
