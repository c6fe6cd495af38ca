#include "solver/refine/condition.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/model/numbers.h"
#include "solver/refine/norm_estimate.h"
#include "solver/refine/residual.h"
#include "solver/threads/task_pool.h"

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

// So many times what is_doubtful() finds is more than any bound.
constexpr double kSure = 100;

double scaled_norm(std::span<const double> scale, std::span<const double> y) {
  double norm = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double size = std::abs(y[i]) * (scale.empty() ? 1 : scale[i]);
    norm = std::isnan(size) ? kInfinity : std::max(norm, size);
  }
  return norm;
}

}  // namespace

double weigh_errors(const MatrixPart& matrix, std::span<const double> y,
                    std::span<double> b, const ErrorEstimateOptions& options) {
  std::vector<double> r(b.size());
  residual(matrix, options.operation, y, b, r);
  residual_rounding(matrix, options.operation, y, b, b);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] += std::abs(r[i]);
  return scaled_norm(options.unknown_scale(), y);
}

std::vector<double> weigh_errors(const MatrixPart& matrix, std::span<const double> y,
                                 std::span<double> b, std::span<const std::size_t> places,
                                 const ErrorEstimateOptions& options,
                                 std::int32_t threads) {
  const auto n = static_cast<std::size_t>(matrix.here().vector_size());
  std::vector<double> norms(places.size());
  on_pool(threads, static_cast<std::int64_t>(places.size() * n), [&](TaskPool& pool) {
    pool.for_each_block(std::ssize(places), [&](std::int64_t k) {
      norms[k] =
          weigh_errors(matrix, y.subspan(places[k], n), b.subspan(places[k], n), options);
    });
  });
  return norms;
}

// Numbers near 1 in modulus: signs alone would cancel out in every second system of two
// equations, where rows are equal but for rounding.
bool is_doubtful(std::span<double> weights, double norm, const BlockOperator& solve,
                 const ErrorEstimateOptions& options) {
  std::mt19937 random(static_cast<std::uint32_t>(weights.size()));
  for (double& each : weights) {
    const double size = 0.5 + std::ldexp(random(), -32);
    each *= random() % 2 == 0 ? size : -size;
  }
  solve(weights, 1);
  const double left = std::sqrt(static_cast<double>(weights.size())) *
                      scaled_norm(options.unknown_scale(), weights);
  return !(kSure * left <= options.enough * norm);
}

ErrorEstimate estimate_errors(const MatrixPart& matrix, std::span<const double> weights,
                              double norm, const BlockOperator& solve,
                              const BlockOperator& solve_transposed,
                              const ErrorEstimateOptions& options) {
  const std::int32_t n = matrix.here().vector_size();
  // op(A)^-1 = right op(B)^-1 left
  const auto right = options.unknown_scale();
  const auto left = options.operation == Operation::kTransposed ? options.column_scale
                                                                : options.row_scale;
  const auto sandwich = [](std::span<const double> first, const BlockOperator& inner,
                           std::span<const double> last) {
    return [=, &inner](std::span<double> block, std::int32_t nrhs) {
      multiply_rows(first, block);
      inner(block, nrhs);
      multiply_rows(last, block);
    };
  };
  const bool verdict = options.enough > 0;  // is all that matters
  ErrorEstimate estimate;
  if (!verdict)
    estimate.condition_1norm =
        norm1(matrix, options) * estimate_norm1(n, sandwich(left, solve, right),
                                                sandwich(right, solve_transposed, left));
  // The infinity norm of M = C op(B)^-1 diag(weight) is the 1-norm of its transpose.
  const double error = estimate_norm1(n, sandwich(right, solve_transposed, weights),
                                      sandwich(weights, solve, right),
                                      verdict ? options.enough * norm : kInfinity);
  estimate.forward_error_bound = error == 0 ? 0 : norm > 0 ? error / norm : kInfinity;
  return estimate;
}

Bytes estimate_errors_bytes(std::int32_t size, Bytes solve) {
  // A residual, and numbers of entries.
  constexpr Bytes kPerRow = sizeof(double) + sizeof(std::int32_t);
  return std::max(Bytes{size} * kPerRow, checked_add(norm_estimate_bytes(size), solve));
}

}  // namespace espalier::solver
