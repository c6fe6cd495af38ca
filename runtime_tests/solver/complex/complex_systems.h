#pragma once

// Seeded complex systems, and dense elimination in long double to compare with.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "solver/complex/complex_error.h"
#include "solver/matrix/complex_matrix.h"
#include "solver/matrix/grid.h"

namespace espalier::solver {

using Entries =
    std::map<std::pair<std::int32_t, std::int32_t>, Complex>;  // (column, row)

inline ComplexMatrix made_of(ComplexSymmetry symmetry, std::int32_t n,
                             const Entries& entries) {
  ComplexMatrix matrix{symmetry, n, {}, {}, {}};
  matrix.column_start.assign(static_cast<std::size_t>(n) + 1, 0);
  for (const auto& [place, value] : entries) {
    ++matrix.column_start[place.first + 1];
    matrix.row.push_back(place.second);
    matrix.value.push_back(value);
  }
  for (std::int32_t j = 0; j < n; ++j)
    matrix.column_start[j + 1] += matrix.column_start[j];
  return matrix;
}

inline int drawn(std::mt19937& random, int first, int last) {
  return std::uniform_int_distribution<int>(first, last)(random);
}

inline Complex drawn_value(std::mt19937& random) {
  std::uniform_real_distribution<> value(-1, 1);
  const Complex both(value(random), value(random));
  switch (drawn(random, 0, 5)) {
    case 0:
      return both.real();
    case 1:
      return {0, both.imag()};
    default:
      return both;
  }
}

inline std::vector<Complex> drawn_vector(std::mt19937& random, std::size_t entries) {
  std::vector<Complex> vector(entries);
  for (Complex& value : vector)
    value = Complex(drawn(random, -9, 9), drawn(random, -9, 9));
  return vector;
}

/// About three entries a column and a diagonal entry of modulus `diagonal`, with a phase
/// or, of a Hermitian matrix, a sign; rows and columns scaled by powers of two.
inline ComplexMatrix random_complex(std::mt19937& random, ComplexSymmetry symmetry,
                                    std::int32_t n, double diagonal) {
  Entries entries;
  const bool general = symmetry == ComplexSymmetry::kGeneral;
  for (int k = 0; k < (general ? 3 : 2) * n; ++k) {
    std::int32_t i = drawn(random, 0, n - 1), j = drawn(random, 0, n - 1);
    if (!general && i < j) std::swap(i, j);
    if (i != j) entries[{j, i}] = drawn_value(random);
  }
  for (std::int32_t j = 0; j < n; ++j) {
    const Complex value = drawn_value(random);
    entries[{j, j}] = symmetry == ComplexSymmetry::kHermitian
                          ? Complex(value.real() < 0 ? -diagonal : diagonal)
                          : diagonal * value / std::abs(value);
  }
  std::vector<int> scale(static_cast<std::size_t>(n));
  for (int& each : scale) each = drawn(random, -9, 9);
  for (auto& [place, value] : entries)
    value *= std::ldexp(1.0, scale[place.first] + scale[place.second]);
  return made_of(symmetry, n, entries);
}

/// Laplacian of a grid and `shift` on its diagonal: a Helmholtz matrix.
inline ComplexMatrix helmholtz(const char* grid, Complex shift) {
  SymmetricMatrix laplacian = make_grid(parse_grid(grid));
  const std::vector<double> zeros(laplacian.row.size());
  ComplexMatrix matrix = zipped(ComplexSymmetry::kSymmetric, std::move(laplacian), zeros);
  for (std::int32_t j = 0; j < matrix.size; ++j)
    matrix.value[matrix.column_start[j]] += shift;
  return matrix;
}

using LongComplex = std::complex<long double>;

/// A dense complex matrix, by columns.
struct ComplexDense {
  explicit ComplexDense(std::int32_t n) : size(n), value(std::size_t(n) * n) {}
  explicit ComplexDense(const ComplexMatrix& a) : ComplexDense(a.size) {
    for_each_entry(a,
                   [&](std::int32_t i, std::int32_t j, Complex v) { (*this)(i, j) = v; });
  }
  LongComplex& operator()(std::int32_t i, std::int32_t j) {
    return value[static_cast<std::size_t>(i) + static_cast<std::size_t>(j) * size];
  }
  [[nodiscard]] ComplexDense operated(ComplexOperation operation) const {
    if (operation == ComplexOperation::kPlain) return *this;
    ComplexDense result(size);
    ComplexDense self = *this;
    for (std::int32_t j = 0; j < size; ++j)
      for (std::int32_t i = 0; i < size; ++i)
        result(j, i) = operation == ComplexOperation::kTransposed ? self(i, j)
                                                                  : std::conj(self(i, j));
    return result;
  }
  std::int32_t size;
  std::vector<LongComplex> value;
};

/// x of A x = b by elimination with row interchanges, and the determinant.
/// @return false: a pivot is zero
inline bool eliminate(ComplexDense a, std::vector<LongComplex>& x,
                      LongComplex& determinant) {
  const std::int32_t n = a.size;
  determinant = 1;
  for (std::int32_t k = 0; k < n; ++k) {
    std::int32_t best = k;
    for (std::int32_t i = k; i < n; ++i)
      if (std::abs(a(i, k)) > std::abs(a(best, k))) best = i;
    if (a(best, k) == LongComplex(0)) return false;
    if (best != k) {
      determinant = -determinant;
      std::swap(x[k], x[best]);
      for (std::int32_t j = 0; j < n; ++j) std::swap(a(k, j), a(best, j));
    }
    determinant *= a(k, k);
    for (std::int32_t i = k + 1; i < n; ++i) {
      const LongComplex factor = a(i, k) / a(k, k);
      if (factor == LongComplex(0)) continue;
      for (std::int32_t j = k + 1; j < n; ++j) a(i, j) -= factor * a(k, j);
      x[i] -= factor * x[k];
    }
  }
  for (std::int32_t k = n; k-- > 0;) {
    for (std::int32_t j = k + 1; j < n; ++j) x[k] -= a(k, j) * x[j];
    x[k] /= a(k, k);
  }
  return true;
}

inline double largest(std::span<const Complex> values) {
  double result = 0;
  for (const Complex value : values) result = std::max(result, std::abs(value));
  return result;
}

}  // namespace espalier::solver
