#include "solver/matrix/complex_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "espalier/model/error.h"

namespace espalier::solver {
namespace {

bool is_real(const ComplexMatrix& matrix) {
  return std::ranges::all_of(matrix.value,
                             [](Complex value) { return value.imag() == 0; });
}

std::string_view name(ComplexSymmetry symmetry) {
  return symmetry == ComplexSymmetry::kGeneral     ? "general"
         : symmetry == ComplexSymmetry::kSymmetric ? "complex symmetric"
                                                   : "Hermitian";
}

}  // namespace

ComplexSymmetry symmetry_for(const ComplexMatrix& matrix,
                             std::optional<FactorKind> kind) {
  if (kind == FactorKind::kLu) return ComplexSymmetry::kGeneral;
  const bool fits = kind == FactorKind::kCholesky
                        ? matrix.symmetry == ComplexSymmetry::kHermitian
                        : matrix.symmetry != ComplexSymmetry::kGeneral;
  if (kind && !fits)
    throw InvalidInput(fmt::format("{} matrix: it is {}",
                                   kind == FactorKind::kCholesky
                                       ? "Cholesky needs a Hermitian"
                                       : "L D L^T needs a Hermitian or complex symmetric",
                                   name(matrix.symmetry)));
  return matrix.symmetry;
}

ComplexMatrix conforming(ComplexMatrix&& matrix, ComplexSymmetry wanted) {
  if (wanted == ComplexSymmetry::kGeneral) return general_of(std::move(matrix));
  matrix = with_symmetry_found(std::move(matrix), wanted);
  if (matrix.symmetry != ComplexSymmetry::kGeneral && is_real(matrix))
    matrix.symmetry = wanted;
  if (matrix.symmetry != wanted)
    throw InvalidInput(fmt::format("a {} matrix was expected: it is {}", name(wanted),
                                   name(matrix.symmetry)));
  return std::move(matrix);
}

}  // namespace espalier::solver
