#include "solver/complex/complex_preparation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "solver/matrix/check_matrix.h"
#include "solver/matrix/kind_of.h"
#include "solver/symbolic/analyse.h"
#include "solver/symbolic/keep_variables.h"

namespace espalier::solver {
namespace {

// |a_ij|; on the diagonal of a Hermitian matrix a_ii, whose sign tells its kind.
template <class Real>
Real moduli(const ComplexMatrix& matrix) {
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

// An entry of what is stored; 0: there is none.
Complex entry_at(const ComplexMatrix& matrix, std::int32_t row, std::int32_t column) {
  if (matrix.symmetry != ComplexSymmetry::kGeneral && row < column)
    std::swap(row, column);  // the modulus of either part is the same
  const auto first = matrix.row.begin() + matrix.column_start[column];
  const auto last = matrix.row.begin() + matrix.column_start[column + 1];
  const auto found = std::lower_bound(first, last, row);
  return found == last || *found != row ? Complex{}
                                        : matrix.value[found - matrix.row.begin()];
}

bool is_more_imaginary(Complex value) {
  return std::abs(value.imag()) > std::abs(value.real());
}

std::vector<double> twice(const std::vector<double>& values) {
  std::vector<double> result;
  result.reserve(2 * values.size());
  for (const double value : values) result.insert(result.end(), 2, value);
  return result;
}

// Both parts of each variable, one after the other.
std::vector<std::int32_t> both_parts(const std::vector<std::int32_t>& variables) {
  std::vector<std::int32_t> result;
  result.reserve(2 * variables.size());
  for (const std::int32_t i : variables) result.insert(result.end(), {2 * i, 2 * i + 1});
  return result;
}

std::vector<std::int32_t> rows_of_parts(const ComplexMatrix& matrix,
                                        const std::vector<std::int32_t>& row_of) {
  std::vector<std::int32_t> result = both_parts(row_of);
  for (std::int32_t j = 0; j < static_cast<std::int32_t>(row_of.size()); ++j)
    if (is_more_imaginary(entry_at(matrix, row_of[j], j)))
      std::swap(result[2 * j], result[2 * j + 1]);
  return result;
}

// Empty: no column has a partner.
std::vector<std::int32_t> partners_of_parts(const ComplexMatrix& matrix,
                                            const std::vector<std::int32_t>& partner) {
  std::vector<std::int32_t> result(2 * static_cast<std::size_t>(matrix.size));
  bool any = false;
  for (std::int32_t j = 0; j < matrix.size; ++j) {
    const std::int32_t i = partner.empty() ? j : partner[j];
    const bool crossed = is_more_imaginary(entry_at(matrix, i, j));
    result[2 * j] = crossed ? 2 * i + 1 : 2 * i;
    result[2 * j + 1] = crossed ? 2 * i : 2 * i + 1;
    any = any || crossed || i != j;
  }
  if (!any) result.clear();
  return result;
}

// Of order n, as the real form is going to be prepared.
PreparedMatrix prepared_by_moduli(const ComplexMatrix& matrix, RealForm form,
                                  const SolverOptions& options, FactorKind kind) {
  PrepareOptions preparing = options.prepare;
  preparing.block_triangular &= options.out_of_core.empty();
  if (form == RealForm::kGeneral)
    return prepare(moduli<GeneralMatrix>(matrix), kind, preparing);
  return prepare(moduli<SymmetricMatrix>(matrix), kind, preparing);
}

FactorKind kind_for(const ComplexMatrix& matrix, RealForm form,
                    std::optional<FactorKind> asked) {
  if (form == RealForm::kGeneral) return FactorKind::kLu;
  if (form == RealForm::kSymmetric) return FactorKind::kLdlt;
  return asked.value_or(kind_of(moduli<SymmetricMatrix>(matrix)));
}

}  // namespace

RealSystem prepare_complex(const ComplexMatrix& matrix, RealForm form,
                           const SolverOptions& options) {
  check_given_order(options.analysis.order, matrix.size, "options.analysis.order");
  RealSystem system{.options = options, .given = {}};
  system.options.real_form = form;
  system.options.analysis.order = both_parts(options.analysis.order);
  const FactorKind kind = kind_for(matrix, form, options.kind);
  // A Cholesky that was not asked for goes on as L D L^T where it fails.
  if (kind != FactorKind::kCholesky) system.options.kind = kind;
  if (!options.schur.empty()) {
    const VariableSplit split(matrix.size, options.schur);
    system.options.schur = both_parts(split.kept);
    return system;
  }
  const PreparedMatrix prepared = prepared_by_moduli(matrix, form, options, kind);
  system.options.analysis.order =
      both_parts(analyse_pattern(prepared.matrix.lower, options.analysis, &system.seconds,
                                 prepared.partner)
                     .permutation);
  system.given = {.row_scale = twice(prepared.row_scale),
                  .column_scale = twice(prepared.column_scale),
                  .row_of = rows_of_parts(matrix, prepared.row_of),
                  .partner = kind == FactorKind::kLdlt
                                 ? partners_of_parts(matrix, prepared.partner)
                                 : std::vector<std::int32_t>(),
                  .structural_rank = 2 * prepared.structural_rank};
  return system;
}

}  // namespace espalier::solver
