#include "solver/matrix/complex_matrix.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "espalier/model/error.h"
#include "solver/matrix/check_matrix.h"
#include "solver/matrix/general_matrix.h"

namespace espalier::solver {
namespace {

// The pattern, each entry's place as its value: exact, as there are fewer than 2^53.
template <class Matrix>
Matrix places_of(const ComplexMatrix& matrix) {
  auto places = pattern_of<Matrix>(matrix);
  places.value.resize(matrix.row.size());
  for (std::size_t k = 0; k < places.value.size(); ++k)
    places.value[k] = static_cast<double>(k);
  return places;
}

// What the entries of both triangles leave possible.
struct Possible {
  bool symmetric = true, hermitian = true;
  [[nodiscard]] bool any() const { return symmetric || hermitian; }
};

Possible possible_symmetry(const ComplexMatrix& matrix) {
  const GeneralMatrix across = transposed(places_of<GeneralMatrix>(matrix));
  Possible possible;
  if (across.column_start != matrix.column_start || across.row != matrix.row)
    return {false, false};
  for (std::size_t k = 0; k < matrix.value.size() && possible.any(); ++k) {
    const Complex here = matrix.value[k],
                  there = matrix.value[static_cast<std::size_t>(across.value[k])];
    possible.symmetric = possible.symmetric && here == there;
    possible.hermitian = possible.hermitian && here == std::conj(there);
  }
  return possible;
}

ComplexMatrix lower_triangle(ComplexMatrix&& matrix, ComplexSymmetry symmetry) {
  std::int64_t kept = 0, at = 0;
  for (std::int32_t j = 0; j < matrix.size; ++j) {
    for (const std::int64_t end = matrix.column_start[j + 1]; at < end; ++at) {
      if (matrix.row[at] < j) continue;
      matrix.row[kept] = matrix.row[at];
      matrix.value[kept++] = matrix.value[at];
    }
    matrix.column_start[j + 1] = kept;
  }
  matrix.row.resize(static_cast<std::size_t>(kept));
  matrix.value.resize(static_cast<std::size_t>(kept));
  matrix.symmetry = symmetry;
  return std::move(matrix);
}

void check_entry(const ComplexMatrix& matrix, std::int32_t i, std::int32_t j,
                 Complex value) {
  if (!std::isfinite(std::abs(value)))
    throw InvalidInput(
        fmt::format("entry ({}, {}) is {} + {} i: its modulus is not finite", i, j,
                    value.real(), value.imag()));
  if (matrix.symmetry == ComplexSymmetry::kHermitian && i == j && value.imag() != 0)
    throw InvalidInput(fmt::format(
        "entry ({0}, {0}) is {1} + {2} i: the diagonal of a Hermitian matrix is real", i,
        value.real(), value.imag()));
}

}  // namespace

void check(const ComplexMatrix& matrix) {
  if (matrix.size > kMostComplexOrder)
    throw InvalidInput(fmt::format("a complex matrix of order {}: more than {}",
                                   matrix.size, kMostComplexOrder));
  check_columns(matrix.size, matrix.column_start);
  const std::vector<double> finite(matrix.row.size());
  check(MatrixView{matrix.size, matrix.symmetry != ComplexSymmetry::kGeneral,
                   matrix.column_start, matrix.row, finite});
  if (matrix.value.size() != matrix.row.size())
    throw InvalidInput(
        fmt::format("{} rows and {} values", matrix.row.size(), matrix.value.size()));
  for (std::int32_t j = 0; j < matrix.size; ++j)
    for (auto k = matrix.column_start[j]; k < matrix.column_start[j + 1]; ++k)
      check_entry(matrix, matrix.row[k], j, matrix.value[k]);
}

ComplexMatrix with_symmetry_found(ComplexMatrix&& matrix, ComplexSymmetry first) {
  if (matrix.symmetry != ComplexSymmetry::kGeneral) return std::move(matrix);
  const Possible possible = possible_symmetry(matrix);
  if (!possible.any()) return std::move(matrix);
  const bool hermitian =
      first == ComplexSymmetry::kHermitian ? possible.hermitian : !possible.symmetric;
  return lower_triangle(std::move(matrix), hermitian ? ComplexSymmetry::kHermitian
                                                     : ComplexSymmetry::kSymmetric);
}

ComplexMatrix general_of(ComplexMatrix&& matrix) {
  if (matrix.symmetry == ComplexSymmetry::kGeneral) return std::move(matrix);
  GeneralMatrix places = expanded(places_of<SymmetricMatrix>(matrix));
  ComplexMatrix result{ComplexSymmetry::kGeneral,
                       matrix.size,
                       std::move(places.column_start),
                       std::move(places.row),
                       {}};
  result.value.reserve(places.value.size());
  for (std::int32_t j = 0; j < result.size; ++j)
    for (auto k = result.column_start[j]; k < result.column_start[j + 1]; ++k) {
      const Complex value = matrix.value[static_cast<std::size_t>(places.value[k])];
      const bool conjugate =
          matrix.symmetry == ComplexSymmetry::kHermitian && result.row[k] < j;
      result.value.push_back(conjugate ? std::conj(value) : value);
    }
  matrix = {};
  return result;
}

}  // namespace espalier::solver
