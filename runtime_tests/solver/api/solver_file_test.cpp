#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "solver/api/solver.h"
#include "solver/matrix/grid.h"
#include "solver/memory/process_memory.h"
#include "solver/support/signed_grid.h"
#include "solver/support/temporary_file.h"

namespace espalier::solver {
namespace TEST_SOURCE {

struct Case {
  FactorKind kind;
  Precision precision;
};

class SolverFile : public testing::TestWithParam<Case> {
 protected:
  [[nodiscard]] static SolverOptions options(std::int32_t workers) {
    SolverOptions options;
    options.kind = GetParam().kind;
    options.precision = GetParam().precision;
    options.workers = workers;
    options.runtime_flops = workers == 1 ? 1e9 : 0;
    return options;
  }
  static void expect_solves(Solver& solver) {
    for (const Operation operation : {Operation::kPlain, Operation::kTransposed}) {
      std::vector<double> b = solver.apply_to_ones(operation);
      const std::size_t n = b.size();
      b.insert(b.end(), b.begin(), b.end());
      const Solution solution = solver.solve(b, 2, operation);
      EXPECT_LE(solution.refinement.backward_error, 1e-14);
      for (std::size_t i = 0; i < 2 * n; ++i) ASSERT_NEAR(b[i], 1, 1e-8) << i;
    }
  }
  TemporaryFile file_;
};

// Saves what was factored. @return what apply_to_ones() gives
std::vector<double> save(const SolverOptions& options, InputMatrix matrix,
                         const std::string& path) {
  Solver solver(std::move(matrix), options);
  EXPECT_TRUE(solver.plan({}));
  EXPECT_TRUE(solver.factorise());
  solver.save(path);
  return solver.apply_to_ones();
}

// By one worker what two have factored, then other values by that one.
TEST_P(SolverFile, SolvesAndFactorisesInAnotherSolver) {
  const FactorKind kind = GetParam().kind;
  const auto b = save(options(2), signed_grid("13x12x11", kind), file_.path());
  const auto loaded = Solver::load(file_.path(), options(1));
  EXPECT_EQ(loaded->kind(), kind);
  EXPECT_EQ(loaded->precision(), GetParam().precision);
  EXPECT_EQ(loaded->apply_to_ones(), b);
  expect_solves(*loaded);
  ASSERT_TRUE(loaded->plan(loaded->memory().least()));
  InputMatrix other = signed_grid("13x12x11", kind);
  std::visit(
      [](auto& matrix) {
        for (double& value : matrix.value) value *= 3;
      },
      other);
  loaded->replace_values(other);
  ASSERT_TRUE(loaded->factorise());
  EXPECT_NE(loaded->apply_to_ones(), b);
  expect_solves(*loaded);
}

INSTANTIATE_TEST_SUITE_P(All, SolverFile,
                         testing::Values(Case{FactorKind::kCholesky, Precision::kDouble},
                                         Case{FactorKind::kCholesky, Precision::kSingle},
                                         Case{FactorKind::kLdlt, Precision::kDouble},
                                         Case{FactorKind::kLdlt, Precision::kSingle},
                                         Case{FactorKind::kLu, Precision::kDouble},
                                         Case{FactorKind::kLu, Precision::kSingle}));

TEST(SolverFiles, HoldFactorsThatWereOutOfCore) {
  const TemporaryFile file;
  for (const FactorKind kind : {FactorKind::kLdlt, FactorKind::kLu}) {
    SolverOptions options;
    options.kind = kind;
    options.workers = 2;
    options.out_of_core = testing::TempDir();
    std::vector<double> b;
    {
      reset_peak_resident();  // an earlier test's would count as the analysis'
      Solver solver(signed_grid("20x20x18", kind), options);
      ASSERT_TRUE(solver.plan(solver.memory().needed_out_of_core()));
      ASSERT_TRUE(solver.factorise());
      ASSERT_GT(solver.spilled().bytes_written, Bytes{1} << 20);
      solver.save(file.path());
      b = solver.apply_to_ones();
    }
    options.out_of_core.clear();
    const auto loaded = Solver::load(file.path(), options);
    EXPECT_LE(loaded->solve(b).refinement.backward_error, 1e-14);
    for (const double x : b) ASSERT_NEAR(x, 1, 1e-8);
  }
}

TEST(SolverFiles, KeepTheKindThatCholeskyFellBackTo) {
  const TemporaryFile file;
  SymmetricMatrix matrix;  // positive diagonal, 2 x 2 minors positive, yet indefinite
  matrix.size = 3;
  matrix.column_start = {0, 3, 5, 6};
  matrix.row = {0, 1, 2, 1, 2, 2};
  matrix.value = {1, -0.9, -0.9, 1, -0.9, 1};
  SolverOptions options;
  (void)save(options, matrix, file.path());
  const auto loaded = Solver::load(file.path(), options);
  EXPECT_EQ(loaded->kind(), FactorKind::kLdlt);
  std::vector<double> b = loaded->apply_to_ones();
  (void)loaded->solve(b);
  for (const double x : b) EXPECT_NEAR(x, 1, 1e-14);
}

TEST(SolverFiles, TakeAMatrixOfOrderZero) {
  const TemporaryFile file;
  (void)save({}, GeneralMatrix{0, {0}, {}, {}}, file.path());
  std::vector<double> b;
  (void)Solver::load(file.path())->solve(b);
}

TEST(SolverFiles, AreRefusedBeforeAFactorisationAndAfterADamage) {
  const TemporaryFile file;
  {
    Solver solver(make_grid(parse_grid("5x5")), {});
    std::vector<double> b = solver.apply_to_ones();
    EXPECT_THROW(solver.save(file.path()), InvalidInput);
    ASSERT_TRUE(solver.plan({}));
    ASSERT_TRUE(solver.factorise());
    ASSERT_TRUE(solver.plan({}));  // gives the factor up
    EXPECT_THROW((void)solver.solve(b), InvalidInput);
    EXPECT_THROW(solver.save(file.path()), InvalidInput);
    EXPECT_FALSE(std::filesystem::exists(file.path()));
  }
  (void)save({}, make_grid(parse_grid("5x5")), file.path());
  std::string bytes = file.bytes();
  for (const std::size_t at : {std::size_t{0}, bytes.size() / 2, bytes.size() - 1}) {
    std::string bad = bytes;
    bad[at] = static_cast<char>(bad[at] + 1);
    std::ofstream(file.path(), std::ios::binary) << bad;
    EXPECT_THROW((void)Solver::load(file.path()), FileError) << at;
  }
  std::ofstream(file.path(), std::ios::binary) << bytes;
  EXPECT_EQ(Solver::load(file.path())->analysis().symbolic.size, 25);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
