#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "solver/api/solver.h"
#include "solver/matrix/general_matrix.h"
#include "solver/matrix/grid.h"

namespace espalier::solver {

/// A grid for each kind: as it is for L L^T, with signs for L D L^T, and for L U with a
/// part that only one triangle has.
inline InputMatrix signed_grid(const std::string& text, FactorKind kind) {
  SymmetricMatrix grid = make_grid(parse_grid(text));
  if (kind == FactorKind::kCholesky) return grid;
  for (std::int32_t j = 0; j < grid.size; ++j)
    if (j % 3 == 0) grid.value[grid.column_start[j]] *= j % 2 == 0 ? -1 : 0.01;
  if (kind == FactorKind::kLdlt) return grid;
  GeneralMatrix general = expanded(grid);
  for (std::size_t k = 0; k < general.value.size(); ++k)
    if (k % 5 == 0) general.value[k] *= 1.5;
  return general;
}

}  // namespace espalier::solver
