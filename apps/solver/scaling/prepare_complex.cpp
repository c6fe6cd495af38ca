#include "solver/scaling/prepare_complex.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace espalier::solver {
namespace {

template <class Real>
Real moduli_of(const ComplexMatrix& matrix) {
  Real result;
  result.size = matrix.size;
  result.column_start = matrix.column_start;
  result.row = matrix.row;
  result.value.reserve(matrix.value.size());
  const bool hermitian = matrix.symmetry == ComplexSymmetry::kHermitian;
  for (std::int32_t j = 0; j < matrix.size; ++j)
    for (auto k = matrix.column_start[j]; k < matrix.column_start[j + 1]; ++k)
      result.value.push_back(hermitian && matrix.row[k] == j ? matrix.value[k].real()
                                                             : std::abs(matrix.value[k]));
  return result;
}

// Puts a value at (row, column), and at its place in the other triangle where it has one.
// @return false: the entry is outside the pattern
bool put(SquareMatrix& target, std::int32_t row, std::int32_t column, Complex value) {
  const SymmetricMatrix& lower = target.lower;
  const auto [low, high] = std::minmax(row, column);
  const auto first = lower.row.begin() + lower.column_start[low];
  const auto last = lower.row.begin() + lower.column_start[low + 1];
  const auto found = std::lower_bound(first, last, high);
  if (found == last || *found != high) return false;
  const auto at = found - lower.row.begin();
  if (row >= column) {
    target.lower.value[at] = value.real();
    target.lower_imaginary[at] = value.imag();
  }
  if (row <= column && !target.symmetric()) {
    target.upper[at] = value.real();
    target.upper_imaginary[at] = value.imag();
  }
  return true;
}

}  // namespace

InputMatrix moduli(const ComplexMatrix& matrix) {
  if (matrix.symmetry == ComplexSymmetry::kGeneral)
    return moduli_of<GeneralMatrix>(matrix);
  return moduli_of<SymmetricMatrix>(matrix);
}

void refill(SquareMatrix& target, const PreparedMatrix& prepared,
            std::span<const std::int32_t> order, const ComplexMatrix& matrix) {
  if (matrix.size != target.size())
    throw InvalidInput(fmt::format("a matrix of order {} for a pattern of order {}",
                                   matrix.size, target.size()));
  clear_values(target);
  target.complex = matrix.symmetry;
  target.lower_imaginary.assign(target.lower.value.size(), 0.0);
  target.upper_imaginary.assign(target.upper.size(), 0.0);
  std::vector<std::int32_t> place_of_row(order.size()), place_of_column(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    const auto place = static_cast<std::int32_t>(k);
    place_of_column[order[k]] = place;
    place_of_row[prepared.row_of.empty() ? order[k] : prepared.row_of[order[k]]] = place;
  }
  for_each_entry(matrix, [&](std::int32_t i, std::int32_t j, Complex value) {
    if (!prepared.row_scale.empty())
      value *= prepared.row_scale[i] * prepared.column_scale[j];
    if (!put(target, place_of_row[i], place_of_column[j], value))
      throw outside_pattern(i, j);
  });
}

}  // namespace espalier::solver
