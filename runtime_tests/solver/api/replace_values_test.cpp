// Values of a pattern that is analysed already, again and again.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "espalier/model/error.h"
#include "solver/api/solver.h"
#include "solver/matrix/grid.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using Vector = std::vector<double>;

// Definite: what is taken from the entries beside the diagonal is less than that of it.
SymmetricMatrix drawn(SymmetricMatrix matrix, std::mt19937& random) {
  std::uniform_real_distribution<double> part(0.5, 1.0);
  for (std::int32_t j = 0; j < matrix.size; ++j)
    for (auto k = matrix.column_start[j]; k < matrix.column_start[j + 1]; ++k)
      matrix.value[k] *= matrix.row[k] == j ? 2 + part(random) : part(random);
  return matrix;
}

// Without the last entry of each column that has one beside its diagonal, as zeros or out
// of the pattern.
SymmetricMatrix thinned(const SymmetricMatrix& matrix, bool zeros) {
  SymmetricMatrix thin{matrix.size, {0}, {}, {}};
  for (std::int32_t j = 0; j < matrix.size; ++j) {
    const auto last = matrix.column_start[j + 1] - 1;
    for (auto k = matrix.column_start[j]; k <= last; ++k) {
      const bool goes = k == last && matrix.row[k] != j;
      if (goes && !zeros) continue;
      thin.row.push_back(matrix.row[k]);
      thin.value.push_back(goes ? 0 : matrix.value[k]);
    }
    thin.column_start.push_back(std::ssize(thin.row));
  }
  return thin;
}

SolverOptions options_of(FactorKind kind) {
  SolverOptions options;
  options.kind = kind;
  options.prepare.scaling = PrepareOptions::Scaling::kNone;
  return options;
}

Vector solution(Solver& solver) {
  Vector b;
  for (std::int32_t i = 0; i < solver.analysis().symbolic.size; ++i) b.push_back(1 + i);
  EXPECT_TRUE(solver.factorise());
  EXPECT_FALSE(solver.solve(b).doubts.any());
  return b;
}

Vector fresh_solution(const SymmetricMatrix& matrix, FactorKind kind) {
  Solver solver(InputMatrix(matrix), options_of(kind));
  EXPECT_TRUE(solver.plan({}));
  return solution(solver);
}

class ReplaceValues : public testing::TestWithParam<FactorKind> {
 protected:
  SymmetricMatrix grid_ = make_grid({6, 5, 4});
  Solver solver_{InputMatrix(grid_), options_of(GetParam())};
  std::mt19937 random_{3};
  void SetUp() override { ASSERT_TRUE(solver_.plan({})); }
};

TEST_P(ReplaceValues, AreTheSameBitsByKeptPlaces) {
  for (int round = 0; round < 4; ++round) {
    const SymmetricMatrix matrix = drawn(grid_, random_);
    solver_.replace_values(InputMatrix(matrix));
    ASSERT_EQ(solution(solver_), fresh_solution(matrix, GetParam())) << round;
  }
}

TEST_P(ReplaceValues, TakeAPartOfThePatternAndTheWholeAgain) {
  for (const bool part : {false, false, true, true, false, true, false, false}) {
    const SymmetricMatrix matrix = drawn(grid_, random_);
    solver_.replace_values(InputMatrix(part ? thinned(matrix, false) : matrix));
    ASSERT_EQ(solution(solver_),
              fresh_solution(part ? thinned(matrix, true) : matrix, GetParam()));
  }
}

TEST_P(ReplaceValues, StayWhereOthersAreRefused) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const SymmetricMatrix matrix = drawn(grid_, random_);
  for (const double bad : {kInfinity, -kInfinity, std::nan("")}) {
    for (int times = 0; times < 2; ++times) solver_.replace_values(InputMatrix(matrix));
    SymmetricMatrix faulty = drawn(grid_, random_);
    faulty.value[7] = bad;
    EXPECT_THROW(solver_.replace_values(InputMatrix(faulty)), InvalidInput);
    EXPECT_EQ(solution(solver_), fresh_solution(matrix, GetParam()));
  }
}

TEST_P(ReplaceValues, GoOnUnderABound) {
  const SymmetricMatrix matrix = drawn(grid_, random_);
  for (int times = 0; times < 2; ++times) solver_.replace_values(InputMatrix(matrix));
  ASSERT_TRUE(solver_.plan(solver_.least()));
  EXPECT_EQ(solution(solver_), fresh_solution(matrix, GetParam()));
  const SymmetricMatrix other = drawn(grid_, random_);
  for (int times = 0; times < 2; ++times) {
    solver_.replace_values(InputMatrix(other));
    EXPECT_EQ(solution(solver_), fresh_solution(other, GetParam()));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, ReplaceValues,
                         testing::Values(FactorKind::kCholesky, FactorKind::kLdlt),
                         [](const auto& kind) {
                           return kind.param == FactorKind::kCholesky ? "cholesky"
                                                                      : "ldlt";
                         });

// A step of an interior-point method: (D A^T; A 0), of which D leaves the scale of the
// first values. Rows 0 and 1 of A are on variables 0 and 1, row r on 2 r and 2 r + 1.
SymmetricMatrix saddle_point(double widest, double last_of_row_1) {
  constexpr std::int32_t kVariables = 60, kRows = 30;
  SymmetricMatrix matrix{kVariables + kRows, {0}, {}, {}};
  const auto add = [&](std::int32_t row, double value) {
    matrix.row.push_back(row);
    matrix.value.push_back(value);
  };
  for (std::int32_t j = 0; j < kVariables + kRows; ++j) {
    if (j < kVariables) add(j, std::pow(widest, j % 7 / 6.0) / 100);
    if (j < 2) add(kVariables, 1);
    if (j < 2) add(kVariables + 1, j == 0 ? 1 : last_of_row_1);
    if (j >= 4 && j < kVariables) add(kVariables + j / 2, 1);
    matrix.column_start.push_back(std::ssize(matrix.row));
  }
  return matrix;
}

TEST(ReplacedValues, OfAnotherScaleAreFactoredOnce) {
  SolverOptions options;
  options.kind = FactorKind::kLdlt;
  Solver solver(saddle_point(1, -1), options);
  ASSERT_TRUE(solver.plan({}));
  for (const double widest : {1.0, 1e6, 1e14}) {
    solver.replace_values(saddle_point(widest, -1));
    int attempts = 0;
    const auto run = solver.factorise([&](double done) { attempts += done == 0; });
    ASSERT_TRUE(run);
    EXPECT_EQ(attempts, 1) << widest;
    EXPECT_EQ(run->pivots.negative, 30) << widest;
    EXPECT_FALSE(solver.singular()) << widest;
    Vector b = solver.apply_to_ones();
    EXPECT_LT(solver.solve(b).refinement.backward_error, 1e-14) << widest;
  }
  solver.replace_values(saddle_point(1e6, 1));  // rows 0 and 1 are equal now
  ASSERT_TRUE(solver.factorise());
  EXPECT_TRUE(solver.singular());
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
