#include "solver/complex/complex_error.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace espalier::solver {
namespace {

constexpr double kRoundoff = std::numeric_limits<double>::epsilon() / 2;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Calls entry(i, j, value) for each entry of op(A).
template <class Entry>
void for_each_of(const ComplexMatrix& matrix, ComplexOperation operation,
                 const Entry& entry) {
  for_each_entry(matrix, [&](std::int32_t i, std::int32_t j, Complex value) {
    if (operation == ComplexOperation::kPlain)
      entry(i, j, value);
    else
      entry(j, i, operation == ComplexOperation::kTransposed ? value : std::conj(value));
  });
}

}  // namespace

ComplexErrorMeasure::ComplexErrorMeasure(const ComplexMatrix& matrix,
                                         std::span<const std::int32_t> left)
    : matrix_(matrix),
      residual_(static_cast<std::size_t>(matrix.size)),
      row_sum_(residual_.size()),
      denominator_(residual_.size()) {
  if (left.empty()) return;
  left_.resize(residual_.size());
  for (const std::int32_t i : left) left_[i] = true;
}

double ComplexErrorMeasure::operator()(ComplexOperation operation,
                                       std::span<const Complex> x,
                                       std::span<const Complex> b) {
  std::vector<double>& w = denominator_;
  double x_norm = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double modulus = std::abs(x[i]);
    if (!std::isfinite(modulus)) return kInfinity;
    if (!is_left(static_cast<std::int32_t>(i))) x_norm = std::max(x_norm, modulus);
    residual_[i] = b[i];
    w[i] = std::abs(b[i]);
    row_sum_[i] = 0;
  }
  for_each_of(matrix_, operation, [&](std::int32_t i, std::int32_t j, Complex value) {
    if (is_left(i) || is_left(j)) return;
    residual_[i] -= value * x[j];
    const double modulus = std::abs(value);
    row_sum_[i] += modulus;
    w[i] += modulus * std::abs(x[j]);
  });
  const double small = 1000 * kRoundoff * static_cast<double>(w.size());
  double omega1 = 0, omega2 = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    if (is_left(static_cast<std::int32_t>(i))) continue;
    if (!std::isfinite(w[i])) return kInfinity;
    const double r = std::abs(residual_[i]), row = row_sum_[i] * x_norm;
    if (r == 0) continue;
    const bool first = w[i] > small * (row + std::abs(b[i])) || !std::isfinite(row);
    double& omega = first ? omega1 : omega2;
    omega = std::max(omega, r / (first ? w[i] : w[i] + row - std::abs(b[i])));
  }
  return omega1 + omega2;
}

void ComplexErrorMeasure::multiply(ComplexOperation operation, std::span<const Complex> x,
                                   std::span<Complex> y) const {
  std::ranges::fill(y, Complex{});
  for_each_of(matrix_, operation, [&](std::int32_t i, std::int32_t j, Complex value) {
    y[i] += value * x[j];
  });
}

}  // namespace espalier::solver
