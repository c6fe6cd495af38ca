#include "solver/io/any_matrix.h"

#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <utility>

#include "espalier/model/error.h"

namespace espalier::solver {
namespace {

bool is_finite(double value) { return std::isfinite(value); }
bool is_finite(Complex value) {
  return is_finite(value.real()) && is_finite(value.imag());
}

template <class Matrix>
void check_sums(const Matrix& matrix, const std::string& path) {
  for (std::int32_t j = 0; j < matrix.size; ++j)
    for (auto k = matrix.column_start[j]; k < matrix.column_start[j + 1]; ++k)
      if (!is_finite(matrix.value[k]))
        throw FileError(path, 0,
                        fmt::format("the sum of the values at ({}, {}) is outside the "
                                    "range of a double",
                                    matrix.row[k] + 1, j + 1));
}

void check_sums(const InputMatrix& matrix, const std::string& path) {
  std::visit([&](const auto& a) { check_sums(a, path); }, matrix);
}

}  // namespace

AnyMatrix with_finite_sums(AnyMatrix&& matrix, const std::string& path) {
  std::visit([&](const auto& a) { check_sums(a, path); }, matrix);
  return std::move(matrix);
}

}  // namespace espalier::solver
