#pragma once

// Systems of each kind on a grid, and saddle points, whose pivots are delayed far; real
// and complex.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <variant>
#include <vector>

#include "espalier/solver/matrix.h"
#include "espalier/solver/options.h"
#include "solver/api/solver.h"
#include "solver/distributed/communicator.h"
#include "solver/io/any_matrix.h"
#include "solver/matrix/grid.h"
#include "solver/matrix/sparse_matrix.h"

namespace espalier::solver {

// Of a grid of side^3 points, with `diagonal` at each of them.
template <class Diagonal>
SymmetricMatrix grid_with(int side, const Diagonal& diagonal) {
  SymmetricMatrix matrix = make_grid({side, side, side});
  for (std::int32_t j = 0; j < matrix.size; ++j)
    matrix.value[matrix.column_start[j]] = diagonal(j);
  return matrix;
}

// By columns, of rows and values.
inline GeneralMatrix general_of(
    std::vector<std::vector<std::pair<std::int32_t, double>>>& columns) {
  GeneralMatrix matrix{.size = static_cast<std::int32_t>(columns.size()),
                       .column_start = {0},
                       .row = {},
                       .value = {}};
  for (auto& column : columns) {
    std::sort(column.begin(), column.end());
    for (const auto& [row, value] : column) {
      matrix.row.push_back(row);
      matrix.value.push_back(value);
    }
    matrix.column_start.push_back(std::ssize(matrix.row));
  }
  return matrix;
}

// A system of each kind. The symmetric one has zeros on its diagonal, so that columns
// find no pivot in their blocks.
inline InputMatrix system_of(FactorKind kind, int side) {
  std::mt19937 random(23);
  std::uniform_real_distribution<double> wind(-0.4, 0.4);
  if (kind == FactorKind::kCholesky)
    return grid_with(side, [](std::int32_t j) { return 6.5 + 0.01 * (j % 7); });
  if (kind == FactorKind::kLdlt)
    return grid_with(side, [](std::int32_t j) {
      return j % 50 == 0 ? 0.0 : (j % 2 == 0 ? 4 : -4) + 0.1 * (j % 5);
    });
  const SymmetricMatrix grid = grid_with(side, [](std::int32_t) { return 6.0; });
  std::vector<std::vector<std::pair<std::int32_t, double>>> columns(grid.size);
  for (std::int32_t j = 0; j < grid.size; ++j)
    for (auto k = grid.column_start[j]; k < grid.column_start[j + 1]; ++k) {
      const std::int32_t i = grid.row[k];
      columns[j].emplace_back(i, grid.value[k] + wind(random));
      if (i != j) columns[i].emplace_back(j, grid.value[k] + wind(random));
    }
  return general_of(columns);
}

// A saddle point: a grid, and for every third of its points a constraint on it alone,
// with a zero on the diagonal. Constraints are eliminated first, and as they are not
// matched with their points here, those of points in separators are delayed to where
// these are.
inline SymmetricMatrix saddle_point(int side) {
  const SymmetricMatrix grid = grid_with(side, [](std::int32_t) { return 6.0; });
  const std::int32_t constraints = grid.size / 3;
  std::mt19937 random(29);
  std::uniform_real_distribution<double> weight(0.5, 1.5);
  SymmetricMatrix matrix{
      .size = grid.size + constraints, .column_start = {0}, .row = {}, .value = {}};
  for (std::int32_t j = 0; j < grid.size; ++j) {
    for (auto k = grid.column_start[j]; k < grid.column_start[j + 1]; ++k) {
      matrix.row.push_back(grid.row[k]);
      matrix.value.push_back(grid.value[k]);
    }
    if (j % 3 == 0 && j / 3 < constraints) {
      matrix.row.push_back(grid.size + j / 3);
      matrix.value.push_back(weight(random));
    }
    matrix.column_start.push_back(std::ssize(matrix.row));
  }
  for (std::int32_t i = 0; i < constraints; ++i) {
    matrix.row.push_back(grid.size + i);
    matrix.value.push_back(0);
    matrix.column_start.push_back(std::ssize(matrix.row));
  }
  return matrix;
}

// The same with other values on the two sides.
inline GeneralMatrix on_both_sides(const SymmetricMatrix& symmetric) {
  std::vector<std::vector<std::pair<std::int32_t, double>>> columns(symmetric.size);
  for (std::int32_t j = 0; j < symmetric.size; ++j)
    for (auto k = symmetric.column_start[j]; k < symmetric.column_start[j + 1]; ++k) {
      const std::int32_t i = symmetric.row[k];
      columns[j].emplace_back(i, symmetric.value[k]);
      if (i != j) columns[i].emplace_back(j, symmetric.value[k] * (1 + 0.01 * (i % 7)));
    }
  return general_of(columns);
}

// The entries turned in the complex plane; of a symmetric or Hermitian matrix those below
// the diagonal stand for both, and on the diagonal of a Hermitian one they stay real.
inline ComplexMatrix turned(const InputMatrix& real, ComplexSymmetry symmetry) {
  return std::visit(
      [symmetry](const auto& matrix) {
        ComplexMatrix result{symmetry, matrix.size, matrix.column_start, matrix.row, {}};
        for (std::int32_t j = 0; j < matrix.size; ++j)
          for (auto k = matrix.column_start[j]; k < matrix.column_start[j + 1]; ++k) {
            const std::int32_t i = matrix.row[k];
            const bool stays = i == j && symmetry == ComplexSymmetry::kHermitian;
            const double angle = stays ? 0 : 0.1 * ((31 * i + 17 * j) % 23);
            result.value.push_back(matrix.value[k] *
                                   Complex(std::cos(angle), std::sin(angle)));
          }
        return result;
      },
      real);
}

struct SystemKind {
  FactorKind factor;
  std::optional<ComplexSymmetry> complex = {};  // none: real
};
inline constexpr SystemKind kRealKinds[] = {
    {FactorKind::kCholesky}, {FactorKind::kLdlt}, {FactorKind::kLu}};
inline constexpr SystemKind kComplexKinds[] = {
    {FactorKind::kCholesky, ComplexSymmetry::kHermitian},
    {FactorKind::kLdlt, ComplexSymmetry::kHermitian},
    {FactorKind::kLdlt, ComplexSymmetry::kSymmetric},
    {FactorKind::kLu, ComplexSymmetry::kGeneral}};

// @param saddle  a saddle point, of a kind that is not definite
inline AnyMatrix system_of(const SystemKind& kind, int side, bool saddle) {
  InputMatrix real = !saddle ? system_of(kind.factor, side)
                     : kind.factor == FactorKind::kLdlt
                         ? InputMatrix(saddle_point(side))
                         : InputMatrix(on_both_sides(saddle_point(side)));
  if (!kind.complex) return real;
  return turned(real, *kind.complex);
}

// In one process.
inline std::unique_ptr<Solver> solver_of(AnyMatrix&& matrix,
                                         const SolverOptions& options) {
  return std::visit(
      [&](auto& each) { return std::make_unique<Solver>(std::move(each), options); },
      matrix);
}

inline void replace(Solver& solver, AnyMatrix&& matrix) {
  std::visit([&](auto& each) { solver.replace_values(std::move(each)); }, matrix);
}

// On several, of the matrix that make() returns at process 0.
template <class Make>
std::unique_ptr<Solver> solver_on(Communicator& processes, const SystemKind& kind,
                                  const Make& make, const SolverOptions& options) {
  const auto solver = [&]<class Matrix>(std::optional<Matrix>&& matrix) {
    if (processes.rank() == 0) matrix = std::get<Matrix>(make());
    return std::make_unique<Solver>(processes, std::move(matrix), options);
  };
  if (kind.complex) return solver(std::optional<ComplexMatrix>());
  return solver(std::optional<InputMatrix>());
}

}  // namespace espalier::solver
