#include "solver/refine.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace espalier::solver {

void residual(const SymmetricMatrix& a, std::span<const double> x,
              std::span<const double> b, std::span<double> r) {
  std::copy(b.begin(), b.end(), r.begin());
  for (std::int32_t j = 0; j < a.size; ++j) {
    double sum = 0;
    for (auto k = a.column_start[j]; k < a.column_start[j + 1]; ++k) {
      const std::int32_t i = a.row[k];
      sum += a.value[k] * x[i];
      if (i != j) r[i] -= a.value[k] * x[j];
    }
    r[j] -= sum;
  }
}

double backward_error(const SymmetricMatrix& a, std::span<const double> x,
                      std::span<const double> b, std::span<const double> r,
                      std::span<double> scratch) {
  for (std::int32_t j = 0; j < a.size; ++j) scratch[j] = std::abs(b[j]);
  for (std::int32_t j = 0; j < a.size; ++j) {
    for (auto k = a.column_start[j]; k < a.column_start[j + 1]; ++k) {
      const std::int32_t i = a.row[k];
      const double entry = std::abs(a.value[k]);
      scratch[j] += entry * std::abs(x[i]);
      if (i != j) scratch[i] += entry * std::abs(x[j]);
    }
  }
  double error = 0;
  for (std::int32_t i = 0; i < a.size; ++i) {
    const double numerator = std::abs(r[i]);
    if (numerator == 0) continue;
    const double quotient = numerator / scratch[i];
    // A comparison that a NaN fails too: it must not pass for a small error.
    if (!(quotient <= error)) error = quotient;
    if (std::isnan(error)) return std::numeric_limits<double>::infinity();
  }
  return error;
}

Refinement refine(const SymmetricMatrix& a, std::span<const double> b,
                  std::span<double> x, std::span<double> scratch,
                  const std::function<void(std::span<double>)>& solve,
                  std::int32_t max_steps) {
  const std::size_t n = x.size();
  const auto r = scratch.subspan(0, n), work = scratch.subspan(n, n);
  const auto best = scratch.subspan(2 * n, n);
  Refinement result;
  residual(a, x, b, r);
  result.backward_error = backward_error(a, x, b, r, work);
  while (result.steps < max_steps &&
         result.backward_error > std::numeric_limits<double>::epsilon() / 2) {
    std::copy(x.begin(), x.end(), best.begin());
    solve(r);
    for (std::size_t i = 0; i < n; ++i) x[i] += r[i];
    residual(a, x, b, r);
    const double error = backward_error(a, x, b, r, work);
    if (!(error < result.backward_error)) {
      std::copy(best.begin(), best.end(), x.begin());
      break;
    }
    const bool stagnates = error > result.backward_error / 2;
    result.backward_error = error;
    ++result.steps;
    if (stagnates) break;
  }
  return result;
}

}  // namespace espalier::solver
