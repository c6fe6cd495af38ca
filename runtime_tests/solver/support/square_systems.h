#pragma once

// Seeded square systems, symmetric and not, for the tests of refinement and of error
// estimates, and dense elimination with pivoting to compare with.

#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "solver/refine/residual.h"
#include "solver/support/systems.h"

namespace espalier::solver {

inline std::vector<double> random_vector(std::mt19937& random, std::int32_t n) {
  std::vector<double> vector(n);
  for (double& value : vector) value = draw(random, -9, 9);
  return vector;
}

/// Values in [-1, 1] at the places of a random pattern, some diagonal entries missing or
/// zero; symmetric half of the time. Often ill-conditioned, sometimes singular.
inline SquareMatrix random_square(std::mt19937& random, std::int32_t n) {
  std::uniform_real_distribution<> value(-1, 1);
  SquareMatrix a{random_spd(random, n), {}};
  for (double& each : a.lower.value) each = value(random);
  if (draw(random, 0, 1) == 1) {
    a.upper = a.lower.value;
    for (std::int32_t j = 0; j < n; ++j)
      for (auto k = a.lower.column_start[j]; k < a.lower.column_start[j + 1]; ++k)
        if (a.lower.row[k] != j) a.upper[k] = draw(random, 0, 3) ? value(random) : 0;
  }
  return a;
}

/// random_square() with a diagonal that dominates rows and columns.
inline SquareMatrix random_dominant(std::mt19937& random, std::int32_t n) {
  SquareMatrix a = random_square(random, n);
  std::vector<double> sum(n, 0.1);
  for (std::int32_t j = 0; j < n; ++j)
    for (auto k = a.lower.column_start[j]; k < a.lower.column_start[j + 1]; ++k) {
      const double opposite = a.symmetric() ? a.lower.value[k] : a.upper[k];
      const double both = std::abs(a.lower.value[k]) + std::abs(opposite);
      if (a.lower.row[k] != j) sum[j] += both, sum[a.lower.row[k]] += both;
    }
  for (std::int32_t j = 0; j < n; ++j) {  // random_spd() has every diagonal entry
    const auto diagonal = a.lower.column_start[j];
    a.lower.value[diagonal] = sum[j];
    if (!a.symmetric()) a.upper[diagonal] = sum[j];
  }
  return a;
}

/// The same with imaginary parts in [-1, 1], none on the diagonal, which dominates still
/// where it did: a Hermitian matrix only where it is asked for, of a symmetric one.
inline SquareMatrix with_imaginary(std::mt19937& random, SquareMatrix a, bool hermitian) {
  std::uniform_real_distribution<> value(-1, 1);
  a.complex = !a.symmetric() ? ComplexSymmetry::kGeneral
              : hermitian    ? ComplexSymmetry::kHermitian
                             : ComplexSymmetry::kSymmetric;
  a.lower_imaginary.assign(a.lower.value.size(), 0);
  a.upper_imaginary.assign(a.upper.size(), 0);
  for (std::int32_t j = 0; j < a.size(); ++j)
    for (auto k = a.lower.column_start[j]; k < a.lower.column_start[j + 1]; ++k) {
      const double size = std::abs(a.lower.value[k]);
      const bool off = a.lower.row[k] != j;
      if (off) a.lower_imaginary[k] = size * value(random);
      if (off && !a.symmetric()) a.upper_imaginary[k] = a.upper[k] * value(random);
      a.lower.value[k] *= off ? 1 : 2;
      if (!off && !a.symmetric()) a.upper[k] = a.lower.value[k];
    }
  return a;
}

inline Dense dense_of(const SquareMatrix& a, Operation operation) {
  Dense dense(a.size());
  const bool transposed = operation == Operation::kTransposed;
  for (std::int32_t j = 0; j < a.size(); ++j)
    for (auto k = a.lower.column_start[j]; k < a.lower.column_start[j + 1]; ++k) {
      const std::int32_t i = a.lower.row[k];
      const double below = a.lower.value[k], above = a.symmetric() ? below : a.upper[k];
      dense(i, j) = transposed ? above : below;
      dense(j, i) = transposed ? below : above;
    }
  return dense;
}

/// The inverse by Gauss-Jordan elimination with row pivoting; of order 0 when a pivot is
/// zero.
inline Dense inverse_of(Dense a) {
  const std::int32_t n = a.size();
  Dense inverse(n);
  for (std::int32_t i = 0; i < n; ++i) inverse(i, i) = 1;
  for (std::int32_t k = 0; k < n; ++k) {
    std::int32_t pivot = k;
    for (std::int32_t i = k; i < n; ++i)
      if (std::abs(a(i, k)) > std::abs(a(pivot, k))) pivot = i;
    if (a(pivot, k) == 0) return Dense(0);
    for (std::int32_t j = 0; j < n; ++j) {
      std::swap(a(k, j), a(pivot, j));
      std::swap(inverse(k, j), inverse(pivot, j));
    }
    const long double divisor = a(k, k);
    for (std::int32_t j = 0; j < n; ++j) a(k, j) /= divisor, inverse(k, j) /= divisor;
    for (std::int32_t i = 0; i < n; ++i) {
      const long double factor = a(i, k);
      if (i == k || factor == 0) continue;
      for (std::int32_t j = 0; j < n; ++j) {
        a(i, j) -= factor * a(k, j);
        inverse(i, j) -= factor * inverse(k, j);
      }
    }
  }
  return inverse;
}

/// block := M block, vector by vector, each in T's precision at the end.
template <class T>
void apply(const Dense& m, std::span<double> block) {
  const std::int32_t n = m.size();
  for (std::size_t at = 0; at < block.size(); at += n) {
    std::vector<long double> y(n);
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int32_t i = 0; i < n; ++i) y[i] += m(i, j) * block[at + j];
    for (std::int32_t i = 0; i < n; ++i) block[at + i] = static_cast<T>(y[i]);
  }
}

/// For the message of a failing test.
inline std::string describe(const SquareMatrix& a) {
  return (a.symmetric() ? "symmetric, " : "two-sided, ") + describe(a.lower);
}

}  // namespace espalier::solver
