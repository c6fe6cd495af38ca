#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "espalier/model/free_memory.h"
#include "espalier/solver/matrix.h"
#include "solver/matrix/sparse_matrix.h"

namespace espalier::solver {

/// Largest order: vectors are real ones of twice the length.
inline constexpr std::int32_t kMostComplexOrder = (1 << 30) - 1;

/// @throws InvalidInput naming the column or the entry, as check(MatrixView); for an
///         order above kMostComplexOrder, a modulus that is no double, and a Hermitian
///         matrix whose diagonal is not real
void check(const ComplexMatrix& matrix);

/// Of a matrix with both triangles: the lower one alone where all entries agree.
/// @param first  what a real symmetric one is, which is both
/// @par Cost  O(n + nonzeros)
[[nodiscard]] ComplexMatrix with_symmetry_found(
    ComplexMatrix&& matrix, ComplexSymmetry first = ComplexSymmetry::kHermitian);

/// Both triangles, as kGeneral.
[[nodiscard]] ComplexMatrix general_of(ComplexMatrix&& matrix);

/// A real matrix of the same pattern that has no values yet.
template <class RealMatrix>
[[nodiscard]] RealMatrix pattern_of(const ComplexMatrix& matrix) {
  RealMatrix result;
  result.size = matrix.size;
  result.column_start = matrix.column_start;
  result.row = matrix.row;
  return result;
}

/// The matrix of two real ones on one pattern, which it takes over.
/// @param imaginary  the values at the places of `pattern`
template <class RealMatrix>
[[nodiscard]] ComplexMatrix zipped(ComplexSymmetry symmetry, RealMatrix&& real,
                                   std::span<const double> imaginary) {
  ComplexMatrix result{
      symmetry, real.size, std::move(real.column_start), std::move(real.row), {}};
  result.value.reserve(imaginary.size());
  for (std::size_t k = 0; k < imaginary.size(); ++k)
    result.value.emplace_back(real.value[k], imaginary[k]);
  free_memory(real.value);
  return result;
}

/// Calls entry(i, j, value) for each entry of both triangles, by columns of what is
/// stored, opposite ones one after the other.
template <class Entry>
void for_each_entry(const ComplexMatrix& matrix, const Entry& entry) {
  for (std::int32_t j = 0; j < matrix.size; ++j)
    for (auto k = matrix.column_start[j]; k < matrix.column_start[j + 1]; ++k) {
      const std::int32_t i = matrix.row[k];
      const Complex value = matrix.value[k];
      entry(i, j, value);
      if (i == j || matrix.symmetry == ComplexSymmetry::kGeneral) continue;
      entry(j, i,
            matrix.symmetry == ComplexSymmetry::kHermitian ? std::conj(value) : value);
    }
}

/// The same numbers, real and imaginary parts in turn, as C and Fortran have them.
[[nodiscard]] inline std::span<double> parts_of(std::span<Complex> values) {
  return {reinterpret_cast<double*>(values.data()), 2 * values.size()};
}

inline void conjugate(std::span<Complex> numbers) {
  for (Complex& number : numbers) number = std::conj(number);
}

}  // namespace espalier::solver
