#include "solver/scaling/prepare_complex.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "solver/scaling/places.h"

namespace espalier::solver {
namespace {

template <class Real>
Real moduli_of(const ComplexMatrix& matrix) {
  auto result = pattern_of<Real>(matrix);
  result.value.reserve(matrix.value.size());
  const bool hermitian = matrix.symmetry == ComplexSymmetry::kHermitian;
  for (std::int32_t j = 0; j < matrix.size; ++j)
    for (auto k = matrix.column_start[j]; k < matrix.column_start[j + 1]; ++k)
      result.value.push_back(hermitian && matrix.row[k] == j ? matrix.value[k].real()
                                                             : std::abs(matrix.value[k]));
  return result;
}

}  // namespace

InputMatrix moduli(const ComplexMatrix& matrix) {
  if (matrix.symmetry == ComplexSymmetry::kGeneral)
    return moduli_of<GeneralMatrix>(matrix);
  return moduli_of<SymmetricMatrix>(matrix);
}

void refill(SquareMatrix& target, const PreparedMatrix& prepared,
            std::span<const std::int32_t> order, const ComplexMatrix& matrix,
            Coupling* coupling) {
  check_refill(prepared, target.size(), matrix);
  target.complex = matrix.symmetry;
  clear_values(target);
  if (coupling != nullptr) clear_values(*coupling, true);
  const Places places(target.size(), prepared, order);
  for_each_entry(matrix, [&](std::int32_t i, std::int32_t j, Complex value) {
    const Placed<Complex> entry = places(i, j, value);
    if (!put_entry(target, entry) &&
        (coupling == nullptr || !put_entry(*coupling, entry)))
      throw outside_pattern(i, j);
  });
}

void check_refill(const PreparedMatrix& /*prepared*/, std::int32_t size,
                  const ComplexMatrix& matrix) {
  if (matrix.size != size)
    throw InvalidInput(
        fmt::format("a matrix of order {} for a pattern of order {}", matrix.size, size));
}

void place_entries(const PreparedMatrix& prepared, std::span<const std::int32_t> order,
                   const ComplexMatrix& matrix,
                   const std::function<void(const Placed<Complex>&)>& visit) {
  const auto size = static_cast<std::int32_t>(order.size());
  check_refill(prepared, size, matrix);
  const Places places(size, prepared, order);
  for_each_entry(matrix, [&](std::int32_t i, std::int32_t j, Complex value) {
    visit(places(i, j, value));
  });
}

// In both triangles on the diagonal, where both are stored.
bool put_entry(SquareMatrix& target, const Placed<Complex>& entry) {
  const std::int64_t at = find_entry(target.lower, entry.row, entry.column);
  if (at < 0) return false;
  if (entry.row >= entry.column) {
    target.lower.value[at] = entry.value.real();
    target.lower_imaginary[at] = entry.value.imag();
  }
  if (entry.row <= entry.column && !target.symmetric()) {
    target.upper[at] = entry.value.real();
    target.upper_imaginary[at] = entry.value.imag();
  }
  return true;
}

bool put_entry(Coupling& coupling, const Placed<Complex>& entry) {
  if (coupling.size == 0) return false;
  const std::int64_t at = find_entry(coupling, entry.row, entry.column);
  if (at < 0) return false;
  coupling.value[at] = entry.value.real();
  coupling.imaginary[at] = entry.value.imag();
  return true;
}

void clear_values(Coupling& coupling, bool complex) {
  std::ranges::fill(coupling.value, 0.0);
  coupling.imaginary.assign(complex ? coupling.value.size() : 0, 0.0);
}

}  // namespace espalier::solver
