#include "solver/refine/condition.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/model/numbers.h"
#include "solver/refine/norm_estimate.h"
#include "solver/refine/residual.h"

namespace espalier::solver {
namespace {

// block := diag(scale) block; an empty scale is ones.
void multiply_rows(std::span<const double> scale, std::span<double> block) {
  const std::size_t n = scale.size();
  for (std::size_t at = 0; n > 0 && at < block.size(); at += n)
    for (std::size_t i = 0; i < n; ++i) block[at + i] *= scale[i];
}

// One column of A = R^-1 B C^-1 holds |b_ij| / (r_i c_j); for op(A) = A^T one row of A.
double norm1(const MatrixPart& part, const ErrorEstimateOptions& options) {
  const auto inverse = [](std::span<const double> scale, std::int32_t i) {
    return scale.empty() ? 1 : 1 / scale[i];
  };
  const bool transposed = options.operation == Operation::kTransposed;
  const SquareMatrix& b = part.here();
  const std::int32_t parts = b.parts();
  std::vector<double> sum(b.size());
  const auto add = [&](std::int32_t row, std::int32_t column, double size) {
    sum[transposed ? row : column] += size * inverse(options.row_scale, parts * row) *
                                      inverse(options.column_scale, parts * column);
  };
  // Of the real matrix that maps parts: the sum of both.
  const auto size = [&](std::int64_t k, bool opposite) {
    if (!b.complex)
      return std::abs(opposite ? b.opposite<double>(k) : b.entry<double>(k));
    using Complex = std::complex<double>;
    return size_of(opposite ? b.opposite<Complex>(k) : b.entry<Complex>(k));
  };
  const auto couple = [&](std::int32_t row, std::int32_t column, auto value) {
    add(row, column, size_of(value));
  };
  if (b.complex)
    part.for_each_coupling<std::complex<double>>(couple);
  else
    part.for_each_coupling<double>(couple);
  for (std::int32_t j = 0; j < part.inner(); ++j)
    for (auto k = b.lower.column_start[j]; k < b.lower.column_start[j + 1]; ++k) {
      const std::int32_t i = b.lower.row[k];
      if (i >= part.inner()) break;
      add(i, j, size(k, false));
      if (i != j) add(j, i, size(k, true));
    }
  part.sum(sum);
  return sum.empty() ? 0 : std::ranges::max(sum);
}

// b := |b - op(B) y| + f
void weigh(const MatrixPart& matrix, Operation operation, std::span<const double> y,
           std::span<double> b) {
  std::vector<double> r(b.size());
  residual(matrix, operation, y, b, r);
  residual_rounding(matrix, operation, y, b, b);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] += std::abs(r[i]);
}

// Norm of the operator applied to random numbers near 1 in modulus, times sqrt(n). Signs
// alone would cancel out in every second system of two equations, where rows are equal
// but for rounding.
double probe(std::int32_t n, const BlockOperator& apply) {
  std::vector<double> block(static_cast<std::size_t>(n));
  std::mt19937 random(n);
  for (double& each : block) {
    const double size = 0.5 + std::ldexp(random(), -32);
    each = random() % 2 == 0 ? size : -size;
  }
  apply(block, 1);
  double largest = 0;
  for (const double each : block)
    largest = std::isnan(each) ? kInfinity : std::max(largest, std::abs(each));
  return std::sqrt(double(n)) * largest;
}

}  // namespace

std::optional<ErrorEstimate> estimate_errors(const MatrixPart& matrix,
                                             std::span<double> b,
                                             std::span<const double> y,
                                             const BlockOperator& solve,
                                             const BlockOperator& solve_transposed,
                                             const ErrorEstimateOptions& options) {
  constexpr double kSure = 100;  // so many times what a probe says
  const std::int32_t n = matrix.here().vector_size();
  const bool transposed = options.operation == Operation::kTransposed;
  // op(A)^-1 = right op(B)^-1 left
  const auto left = transposed ? options.column_scale : options.row_scale;
  const auto right = transposed ? options.row_scale : options.column_scale;
  const auto sandwich = [](std::span<const double> first, const BlockOperator& inner,
                           std::span<const double> last) {
    return [=, &inner](std::span<double> block, std::int32_t nrhs) {
      multiply_rows(first, block);
      inner(block, nrhs);
      multiply_rows(last, block);
    };
  };
  double x_norm = 0;
  for (std::int32_t i = 0; i < n; ++i)
    x_norm = std::max(x_norm, std::abs(y[i]) * (right.empty() ? 1 : right[i]));
  weigh(matrix, options.operation, y, b);
  const auto spread = sandwich(b, solve, right);  // of errors over the solution
  const bool verdict = options.enough > 0;        // is all that matters
  const double enough = verdict ? options.enough * x_norm : kInfinity;
  if (verdict && kSure * probe(n, spread) <= enough) return std::nullopt;
  ErrorEstimate estimate;
  if (!verdict)
    estimate.condition_1norm =
        norm1(matrix, options) * estimate_norm1(n, sandwich(left, solve, right),
                                                sandwich(right, solve_transposed, left));
  // The infinity norm of M = C op(B)^-1 diag(weight) is the 1-norm of its transpose.
  const double error =
      estimate_norm1(n, sandwich(right, solve_transposed, b), spread, enough);
  estimate.forward_error_bound = error == 0 ? 0 : x_norm > 0 ? error / x_norm : kInfinity;
  return estimate;
}

Bytes estimate_errors_bytes(std::int32_t size, Bytes solve) {
  // A residual, and numbers of entries.
  constexpr Bytes kPerRow = sizeof(double) + sizeof(std::int32_t);
  return std::max(Bytes{size} * kPerRow, checked_add(norm_estimate_bytes(size), solve));
}

}  // namespace espalier::solver
