#include "solver/matrix/kind_of.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "espalier/model/error.h"

namespace espalier::solver {
namespace {

// Whether no entry shows that the matrix is not positive definite.
bool may_be_definite(const SymmetricMatrix& matrix) {
  std::vector<double> root(matrix.size);  // of the diagonal
  for (std::int32_t column = 0; column < matrix.size; ++column) {
    const std::int64_t at = matrix.column_start[column];
    const bool stored = at < matrix.column_start[column + 1] && matrix.row[at] == column;
    if (!stored || !(matrix.value[at] > 0)) return false;
    root[column] = std::sqrt(matrix.value[at]);
  }
  for (std::int32_t column = 0; column < matrix.size; ++column) {
    for (auto at = matrix.column_start[column] + 1; at < matrix.column_start[column + 1];
         ++at) {
      if (std::abs(matrix.value[at]) >= root[column] * root[matrix.row[at]]) return false;
    }
  }
  return true;
}

}  // namespace

FactorKind kind_of(const InputMatrix& matrix) {
  const auto* symmetric = std::get_if<SymmetricMatrix>(&matrix);
  if (!symmetric) return FactorKind::kLu;
  return may_be_definite(*symmetric) ? FactorKind::kCholesky : FactorKind::kLdlt;
}

void require_kind(const InputMatrix& matrix, FactorKind kind) {
  const auto* general = std::get_if<GeneralMatrix>(&matrix);
  if (!general || kind == FactorKind::kLu) return;
  const SquareMatrix square = symmetrised(*general);
  for (std::int32_t column = 0; column < general->size; ++column) {
    for (auto at = square.lower.column_start[column];
         at < square.lower.column_start[column + 1]; ++at) {
      const double below = square.lower.value[at], above = square.upper[at];
      const std::int32_t row = square.lower.row[at];
      if (row == column || below == above) continue;
      throw InvalidInput(
          fmt::format("{} needs a symmetric matrix: entry ({}, {}) is {}, ({}, {}) is {}",
                      kind == FactorKind::kCholesky ? "Cholesky" : "L D L^T", row + 1,
                      column + 1, below, column + 1, row + 1, above));
    }
  }
}

}  // namespace espalier::solver
