#include "solver/refine/gmres.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace espalier::solver {
namespace {

// Four sums, for the processor to add at once.
double dot(std::span<const double> a, std::span<const double> b) {
  double sum[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= a.size(); i += 4)
    for (std::size_t k = 0; k < 4; ++k) sum[k] += a[i + k] * b[i + k];
  for (; i < a.size(); ++i) sum[0] += a[i] * b[i];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// y += factor x
void add(double factor, std::span<const double> x, std::span<double> y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] += factor * x[i];
}

// A row whose denominator is zero has a zero residual: left as it is.
double scale_of(double denominator) { return denominator > 0 ? denominator : 1; }

}  // namespace

Gmres::Gmres(std::int32_t size, std::int32_t basis)
    : size_(size),
      basis_(basis),
      v_(basis + 1),
      z_(basis),
      h_(static_cast<std::size_t>(basis + 1) * basis),
      cosine_(basis),
      sine_(basis),
      g_(basis + 1) {}

Bytes Gmres::bytes(std::int32_t size, std::int32_t basis) {
  const Bytes small = checked_mul(Bytes{basis} + 1, Bytes{basis} + 12);
  const Bytes vectors = checked_mul(Bytes{2} * basis + 1, size);
  return checked_mul(checked_add(small, vectors), Bytes{sizeof(double)});
}

std::span<double> Gmres::v(std::int32_t k) {
  v_[k].resize(size_);
  return v_[k];
}

std::span<double> Gmres::z(std::int32_t k) {
  z_[k].resize(size_);
  return z_[k];
}

double& Gmres::h(std::int32_t i, std::int32_t k) {
  return h_[i + static_cast<std::size_t>(k) * (basis_ + 1)];
}

std::int32_t Gmres::correct(const ErrorMeasure& measure, std::span<double> r,
                            const BlockOperator& solve, double target) {
  const auto denominator = measure.denominators();
  const auto first = v(0);
  for (std::int32_t i = 0; i < size_; ++i) first[i] = r[i] / scale_of(denominator[i]);
  g_[0] = std::sqrt(dot(first, first));
  std::int32_t steps = 0, useful = 0;
  if (g_[0] > 0 && std::isfinite(g_[0])) {
    for (double& each : first) each /= g_[0];
    // Below this the arithmetic cannot tell a smaller bound from rounding.
    const double floor = g_[0] * std::numeric_limits<double>::epsilon();
    while (steps < basis_ && std::abs(g_[useful]) > std::max(target, floor)) {
      ++steps;
      if (!expand(measure, solve, useful)) break;
      rotate(useful++);
    }
  }
  combine(useful, r);
  return steps;
}

// Step k of Arnoldi. @return false: nothing new, or not finite
bool Gmres::expand(const ErrorMeasure& measure, const BlockOperator& solve,
                   std::int32_t k) {
  const auto denominator = measure.denominators();
  const auto direction = z(k), next = v(k + 1);
  std::copy_n(v(k).begin(), size_, direction.begin());
  for (std::int32_t i = 0; i < size_; ++i) direction[i] *= scale_of(denominator[i]);
  solve(direction, 1);
  multiply(measure.matrix(), measure.operation(), direction, next);
  for (std::int32_t i = 0; i < size_; ++i) next[i] /= scale_of(denominator[i]);
  const double before = std::sqrt(dot(next, next));
  return before > 0 && std::isfinite(before) && orthonormalise(k);
}

// v_(k + 1), given as A z_k with rows scaled. @return false: not finite
bool Gmres::orthonormalise(std::int32_t k) {
  const auto next = v(k + 1);
  for (std::int32_t i = 0; i <= k; ++i) {
    h(i, k) = dot(v(i), next);
    add(-h(i, k), v(i), next);
  }
  const double norm = std::sqrt(dot(next, next));
  h(k + 1, k) = norm;
  if (norm > 0)
    for (double& each : next) each /= norm;
  return std::isfinite(norm);
}

// Makes column k of h triangular by the rotations before it and a new one.
void Gmres::rotate(std::int32_t k) {
  for (std::int32_t i = 0; i < k; ++i) {
    const double above = h(i, k), below = h(i + 1, k);
    h(i, k) = cosine_[i] * above + sine_[i] * below;
    h(i + 1, k) = cosine_[i] * below - sine_[i] * above;
  }
  const double length = std::hypot(h(k, k), h(k + 1, k));
  cosine_[k] = length > 0 ? h(k, k) / length : 1;
  sine_[k] = length > 0 ? h(k + 1, k) / length : 0;
  h(k, k) = length;
  g_[k + 1] = -sine_[k] * g_[k];
  g_[k] *= cosine_[k];
}

// d := the least-squares combination of the directions; one that h does not see is 0.
void Gmres::combine(std::int32_t steps, std::span<double> d) {
  std::fill(d.begin(), d.end(), 0.0);
  for (std::int32_t k = steps - 1; k >= 0; --k) {
    for (std::int32_t j = k + 1; j < steps; ++j) g_[k] -= h(k, j) * g_[j];
    g_[k] = h(k, k) > 0 ? g_[k] / h(k, k) : 0;
    add(g_[k], z(k), d);
  }
}

}  // namespace espalier::solver
