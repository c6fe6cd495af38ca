// The cases of one subject, which share their instances: over 300 lines.

#include "solver/api/solver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "solver/matrix/grid.h"
#include "solver/memory/process_memory.h"
#include "solver/refine/refine.h"
#include "solver/support/signed_grid.h"

namespace espalier::solver {
namespace TEST_SOURCE {

TEST(MemoryAccount, TakesTheLargestOfTheThreePhases) {
  MemoryAccount account{
      .analysis_peak = 100, .baseline = 40, .reserve = 10, .tree_least = 30, .solve = 20};
  EXPECT_EQ(account.needed(), 100);
  account.tree_least = 60;
  EXPECT_EQ(account.needed(), 110);  // 60 + 40 + 10
  account.solve = 70;
  EXPECT_EQ(account.needed(), 120);  // 70 + 40 + 10
  EXPECT_EQ(account.tree_bound(150), 100);
}

TEST(MemoryAccount, LeavesTheTreeEnoughInsideTheBound) {
  std::mt19937 random(30);
  for (int instance = 0; instance < 2000; ++instance) {
    const auto draw = [&](Bytes last) {
      return std::uniform_int_distribution<Bytes>(0, last)(random);
    };
    const MemoryAccount account{.analysis_peak = draw(1000),
                                .baseline = draw(500),
                                .reserve = draw(100),
                                .tree_least = draw(1000),
                                .solve = draw(1000)};
    const Bytes needed = account.needed();
    // What one run prints as the least is accepted by the next, whose needs differ.
    ASSERT_GE(account.least(), needed + (Bytes{1} << 20));
    ASSERT_GE(needed, account.analysis_peak);
    ASSERT_GE(needed, account.baseline + account.solve + account.reserve);
    for (const Bytes bound : {needed, needed + 1, needed + draw(1000)}) {
      ASSERT_GE(account.tree_bound(bound), account.tree_least);
      ASSERT_LE(account.baseline + account.reserve + account.tree_bound(bound), bound);
    }
  }
}

TEST(MemoryAccount, RefusesSumsBeyondTheRange) {
  const MemoryAccount account{.baseline = Bytes{1} << 62, .tree_least = Bytes{1} << 62};
  EXPECT_THROW((void)account.least(), OverflowError);
}

SolverOptions on_two_workers() {
  SolverOptions options;
  options.workers = 2;
  options.runtime_flops = 0;
  return options;
}

TEST(Solver, SolvesInsideItsLeastBoundAndRefusesHalfOfIt) {
  Solver job(make_grid(parse_grid("10x10x10")), on_two_workers());
  const Bytes least = job.memory().least();
  const auto refused = job.plan(least / 2);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().bound_bytes, least / 2);
  EXPECT_EQ(refused.error().least_bytes, least);
  ASSERT_TRUE(job.plan(least));
  const auto run = job.factorise();
  ASSERT_TRUE(run);
  EXPECT_LE(run->allocated_peak, run->booked_peak);
  std::vector<double> b = job.apply_to_ones();
  const Solution solution = job.solve(b);
  EXPECT_LE(solution.refinement.backward_error, 1e-15);
  for (const double x : b) EXPECT_NEAR(x, 1, 1e-10);
}

// Without a bound nothing is measured before somebody asks: afterwards, too.
TEST(Solver, TellsALeastBoundAfterAFactorisationWithoutOne) {
  for (const FactorKind kind : {FactorKind::kCholesky, FactorKind::kLu}) {
    SolverOptions options;
    options.kind = kind;
    Solver solver(make_grid(parse_grid("24x24x24")), options);
    ASSERT_TRUE(solver.without_runtime());
    ASSERT_TRUE(solver.plan(std::nullopt));
    ASSERT_TRUE(solver.factorise());
    const Bytes resident = resident_bytes(), factor = solver.tree().nodes[0].factor_bytes;
    ASSERT_GT(factor, Bytes{8} << 20);
    EXPECT_LE(solver.memory().baseline, resident + (Bytes{8} << 20) - factor);
    const Bytes least = solver.least();
    EXPECT_GE(least, solver.memory().baseline + factor);
    ASSERT_TRUE(solver.plan(least));
    const auto run = solver.factorise();
    ASSERT_TRUE(run);
    EXPECT_LE(run->allocated_peak, solver.memory().tree_bound(least));
    EXPECT_LE(solver.memory().baseline + solver.factor_growth(), least);
    std::vector<double> b = solver.apply_to_ones();
    EXPECT_LE(solver.solve(b).refinement.backward_error, 1e-15);
    EXPECT_EQ(solver.least(), least);
  }
}

// In the calling thread, beside a solver that has the runtime with other workers.
TEST(Solver, SolvesSmallSystemsWithoutTheRuntime) {
  const Solver on_runtime(make_grid(parse_grid("4x4")), on_two_workers());
  for (const FactorKind kind :
       {FactorKind::kCholesky, FactorKind::kLdlt, FactorKind::kLu})
    for (const Precision precision : {Precision::kDouble, Precision::kSingle}) {
      SolverOptions options;
      options.kind = kind;
      options.precision = precision;
      options.workers = 1;
      Solver job(make_grid(parse_grid("9x8x7")), options);
      ASSERT_TRUE(job.without_runtime());
      EXPECT_EQ(job.tree().nodes.size(), 1U);
      ASSERT_FALSE(job.plan(job.memory().needed() / 2));
      ASSERT_TRUE(job.plan(job.memory().needed()));
      for (int turn = 0; turn < 2; ++turn) {
        double part = 0;
        const auto run = job.factorise([&](double done) { part = done; });
        ASSERT_TRUE(run);
        EXPECT_EQ(part, 1);
        EXPECT_LE(run->allocated_peak, run->booked_peak);
        EXPECT_GT(run->allocated_peak, 0);
        for (const Operation operation : {Operation::kPlain, Operation::kTransposed}) {
          std::vector<double> b = job.apply_to_ones(operation);
          b.insert(b.end(), b.begin(), b.end());
          EXPECT_LE(job.solve(b, 2, operation).refinement.backward_error, 1e-15);
          for (const double x : b) ASSERT_NEAR(x, 1, 1e-10);
        }
      }
    }
}

// Which zeros a sweep computes depends on the runtime, which leaves out what has no
// entries.
TEST(Solver, GivesZerosOfOneSign) {
  constexpr std::int32_t kBlocks = 40;
  GeneralMatrix blocks{2 * kBlocks, {0}, {}, {}};
  for (std::int32_t j = 0; j < 2 * kBlocks; ++j) {
    const std::int32_t first = j / 2 * 2;
    blocks.row.insert(blocks.row.end(), {first, first + 1});
    for (const std::int32_t i : {first, first + 1})
      blocks.value.push_back(i == j ? -2 - i % 3 : 1 + j % 2);
    blocks.column_start.push_back(std::ssize(blocks.row));
  }
  for (const double runtime_flops : {0.0, 1e9})
    for (const Operation operation : {Operation::kPlain, Operation::kTransposed}) {
      SolverOptions options = on_two_workers();
      options.runtime_flops = runtime_flops;
      Solver job(blocks, options);
      ASSERT_TRUE(job.plan(std::nullopt));
      ASSERT_TRUE(job.factorise());
      std::vector<double> x(2 * kBlocks);
      x[2] = 1;
      const std::int64_t row = 2;
      (void)job.solve(x, 1, operation, {&row, 1});
      EXPECT_NE(x[2], 0);
      EXPECT_EQ(std::ranges::count(x, 0), 2 * kBlocks - 2);
      for (const double each : x) EXPECT_FALSE(each == 0 && std::signbit(each));
    }
}

TEST(Solver, StartsTheRuntimeForWhatIsLarge) {
  SolverOptions options;
  options.runtime_flops = 100;
  EXPECT_FALSE(Solver(make_grid(parse_grid("5x5")), options).without_runtime());
  options.runtime_flops = 1e9;
  EXPECT_TRUE(Solver(make_grid(parse_grid("5x5")), options).without_runtime());
  options.out_of_core = testing::TempDir();
  EXPECT_FALSE(Solver(make_grid(parse_grid("5x5")), options).without_runtime());
  options.out_of_core.clear();
  options.scheduler = "eager";
  EXPECT_FALSE(Solver(make_grid(parse_grid("5x5")), options).without_runtime());
}

// Of 1.1e9 to 1.7e9 operations, whatever the order.
// By threads of its own, where there are several workers and a bound has room for that.
TEST(Solver, SharesASmallSystemAmongThreads) {
  keep_heap_small();
  for (const std::int32_t workers : {1, 2}) {
    SolverOptions options;
    options.workers = workers;
    Solver solver(make_grid(parse_grid("28x28x28")), options);
    ASSERT_GT(solver.analysis().symbolic.factor_flops, 1e9);
    ASSERT_LT(solver.analysis().symbolic.factor_flops, 4e9);
    EXPECT_TRUE(solver.without_runtime());
    ASSERT_TRUE(solver.plan(std::nullopt));
    EXPECT_EQ(solver.factorise()->tasks > 1, workers > 1);
    const Bytes least = solver.least();
    for (const Bytes bound : {least, 2 * least, 4 * least}) {
      ASSERT_TRUE(solver.plan(bound));
      ASSERT_TRUE(reset_peak_resident());
      const auto run = solver.factorise();
      ASSERT_TRUE(run);
      EXPECT_LE(peak_resident_bytes(), bound);
      EXPECT_LE(run->allocated_peak, run->booked_peak);
      const bool shares = workers > 1 && run->tasks > 1;
      EXPECT_TRUE(bound != least || !shares);
      EXPECT_TRUE(bound != 4 * least || shares == (workers > 1));
    }
  }
}

// What a start tells hwloc is taken back, and what the user says is heard.
TEST(Solver, LeavesTheEnvironmentAsItWas) {
  constexpr const char* kComponents = "HWLOC_COMPONENTS";
  const char* const there = std::getenv(kComponents);
  const std::optional<std::string> before =
      there != nullptr ? std::optional<std::string>(there) : std::nullopt;
  for (const bool given : {false, true}) {
    if (given)
      setenv(kComponents, "-opencl", 1);
    else
      unsetenv(kComponents);
    const Solver solver(make_grid(parse_grid("4x4")), on_two_workers());
    ASSERT_FALSE(solver.without_runtime());
    EXPECT_STREQ(std::getenv(kComponents), given ? "-opencl" : nullptr);
  }
  if (before)
    setenv(kComponents, before->c_str(), 1);
  else
    unsetenv(kComponents);
}

TEST(Solver, NamesTheBadColumnOfTheMatrixAsItWasRead) {
  for (const std::int32_t column : {0, 17, 99}) {
    SymmetricMatrix matrix = make_grid(parse_grid("10x10"));
    matrix.value[matrix.column_start[column]] = -1;
    SolverOptions options = on_two_workers();
    options.kind = FactorKind::kCholesky;
    Solver job(std::move(matrix), options);
    ASSERT_TRUE(job.plan({}));
    const auto run = job.factorise();
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().column, column);
  }
}

struct Case {
  FactorKind kind;
  Precision precision;
};

class SolverKinds : public testing::TestWithParam<Case> {
 protected:
  [[nodiscard]] static SolverOptions options() {
    SolverOptions options = on_two_workers();
    options.kind = GetParam().kind;
    options.precision = GetParam().precision;
    return options;
  }
  static void expect_solved(Solver& solver, const char* when) {
    for (const Operation operation : {Operation::kPlain, Operation::kTransposed}) {
      std::vector<double> b = solver.apply_to_ones(operation);
      const std::size_t n = b.size();
      b.insert(b.end(), b.begin(), b.end());
      for (std::size_t i = n; i < 2 * n; ++i) b[i] *= -2;
      const Solution solution = solver.solve(b, 2, operation);
      EXPECT_LE(solution.refinement.backward_error, 1e-14) << when;
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_NEAR(b[i], 1, 1e-8) << when << " " << i;
        ASSERT_NEAR(b[n + i], -2, 1e-8) << when << " " << i;
      }
    }
  }
};

TEST_P(SolverKinds, SolvesWithoutABoundAndAtTheLeastOne) {
  Solver solver(signed_grid("13x12x11", GetParam().kind), options());
  for (const bool bounded : {false, true}) {
    ASSERT_TRUE(
        solver.plan(bounded ? std::optional(solver.memory().least()) : std::nullopt));
    const auto run = solver.factorise();
    ASSERT_TRUE(run);
    if (bounded) {
      EXPECT_LE(run->allocated_peak, run->booked_peak);
      EXPECT_EQ(run->pivots.perturbed, 0);
    }
    expect_solved(solver, bounded ? "bounded" : "unbounded");
  }
}

TEST_P(SolverKinds, SolvesOutOfCoreAtAllBoundsDownToTheLeast) {
  SolverOptions out_of_core = options();
  out_of_core.out_of_core = testing::TempDir();
  reset_peak_resident();  // an earlier test's peak would count as the analysis'
  Solver solver(signed_grid("22x21x20", GetParam().kind), out_of_core);
  solver.settle_order();
  const Bytes in_core = solver.memory().needed(),
              least = solver.memory().needed_out_of_core();
  ASSERT_LT(least, in_core);
  Bytes written = -1;
  for (int step = 4; step >= 0; --step) {
    const Bytes bound = least + (in_core - least) / 4 * step;
    ASSERT_TRUE(solver.plan(bound)) << bound;
    const auto run = solver.factorise();
    ASSERT_TRUE(run);
    EXPECT_LE(run->booked_peak, solver.memory().tree_bound(bound));
    EXPECT_GE(solver.spilled().bytes_written, written);
    // What is written ends with the last entry, not with its page.
    EXPECT_LE(solver.spilled().bytes_written, solver.bytes_to_spill());
    EXPECT_GE(solver.spilled().bytes_written, solver.bytes_to_spill() / 2);
    written = solver.spilled().bytes_written;
    expect_solved(solver, "out of core");
  }
  EXPECT_GT(written, 0);
  EXPECT_FALSE(solver.plan(least - 1));
}

TEST_P(SolverKinds, FactorsAgainWithOtherValues) {
  const std::string grid = "9x8x7";
  Solver solver(signed_grid(grid, GetParam().kind), options());
  ASSERT_TRUE(solver.plan({}));
  ASSERT_TRUE(solver.factorise());
  InputMatrix other = signed_grid(grid, GetParam().kind);
  std::visit(
      [](auto& matrix) {
        for (double& value : matrix.value) value *= 3;
      },
      other);
  solver.replace_values(other);
  ASSERT_TRUE(solver.factorise());
  std::vector<double> b(solver.analysis().symbolic.size, 1.0);
  Solution solution = solver.solve(b);
  EXPECT_LE(solution.refinement.backward_error, 1e-14);
  expect_solved(solver, "again");
}

TEST_P(SolverKinds, SkipsSubtreesWithoutRightHandSides) {
  Solver solver(signed_grid("10x10x10", GetParam().kind), options());
  ASSERT_TRUE(solver.plan({}));
  ASSERT_TRUE(solver.factorise());
  for (const std::int64_t row : {0, 421, 999}) {
    std::vector<double> all(1000, 0.0), sparse(1000, 0.0);
    all[row] = sparse[row] = 1;
    (void)solver.solve(all);
    const std::vector<std::int64_t> rows{row};
    (void)solver.solve(sparse, 1, Operation::kPlain, rows);
    for (std::size_t i = 0; i < all.size(); ++i)
      ASSERT_NEAR(all[i], sparse[i], 1e-9 * std::abs(all[i]) + 1e-12) << row << " " << i;
  }
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  const char* const kinds[] = {"Cholesky", "Ldlt", "Lu"};
  return std::string(kinds[static_cast<int>(info.param.kind)]) +
         (info.param.precision == Precision::kSingle ? "Single" : "Double");
}

INSTANTIATE_TEST_SUITE_P(All, SolverKinds,
                         testing::Values(Case{FactorKind::kCholesky, Precision::kDouble},
                                         Case{FactorKind::kLdlt, Precision::kDouble},
                                         Case{FactorKind::kLu, Precision::kDouble},
                                         Case{FactorKind::kCholesky, Precision::kSingle},
                                         Case{FactorKind::kLdlt, Precision::kSingle},
                                         Case{FactorKind::kLu, Precision::kSingle}),
                         name_of);

TEST(Solver, GoesOnAsLdltWhereAPivotIsNotPositive) {
  SymmetricMatrix matrix = make_grid(parse_grid("10x10x10"));
  // Diagonals stay positive and dominate pairwise: only the factorisation can tell.
  for (std::int32_t j = 0; j < matrix.size; ++j)
    matrix.value[matrix.column_start[j]] = 1.5;
  Solver solver(std::move(matrix), on_two_workers());
  EXPECT_EQ(solver.kind(), FactorKind::kCholesky);
  ASSERT_TRUE(solver.plan(solver.memory().least()));
  const auto run = solver.factorise();
  ASSERT_TRUE(run);
  EXPECT_EQ(solver.kind(), FactorKind::kLdlt);
  EXPECT_GT(run->pivots.negative, 0);
  std::vector<double> b = solver.apply_to_ones();
  EXPECT_LE(solver.solve(b).refinement.backward_error, 1e-14);
}

TEST(Solver, TellsTheNullSpaceOfASemidefiniteMatrix) {
  // A grid whose rows sum to 0: the vector of ones is in the null space.
  SymmetricMatrix matrix = make_grid(parse_grid("9x8x7"));
  std::vector<double> sum(matrix.size, 0);
  for (std::int32_t j = 0; j < matrix.size; ++j)
    for (auto k = matrix.column_start[j] + 1; k < matrix.column_start[j + 1]; ++k) {
      sum[j] -= matrix.value[k];
      sum[matrix.row[k]] -= matrix.value[k];
    }
  for (std::int32_t j = 0; j < matrix.size; ++j)
    matrix.value[matrix.column_start[j]] = sum[j];
  Solver solver(std::move(matrix), on_two_workers());
  ASSERT_TRUE(solver.plan({}));
  const auto run = solver.factorise();
  ASSERT_TRUE(run);
  EXPECT_EQ(solver.kind(), FactorKind::kLdlt);
  EXPECT_EQ(run->pivots.null_space, 1);
}

// A bound without a kind has to do for L D L^T, too: what that may refine with comes on
// top, but nothing is counted for refinement and for estimates, which follow it, at once.
TEST(Solver, CountsTheLargerOfRefinementAndEstimates) {
  SolverOptions options = on_two_workers();
  const SymmetricMatrix matrix = make_grid(parse_grid("40x40"));
  const Bytes either = Solver(SymmetricMatrix(matrix), options).memory().solve;
  options.kind = FactorKind::kCholesky;
  const Bytes definite = Solver(SymmetricMatrix(matrix), options).memory().solve;
  const auto refining = [&](std::int32_t basis) {
    return refinement_bytes(matrix.size, 1, {.gmres_basis = basis});
  };
  EXPECT_GE(either, definite);
  EXPECT_LE(either - definite, refining(4) - refining(0));
}

TEST(Solver, RefusesADirectoryThatIsNotThere) {
  SolverOptions options = on_two_workers();
  options.out_of_core = testing::TempDir() + "/not_there";
  EXPECT_THROW(Solver(make_grid(parse_grid("5x5")), options), FileError);
  const std::string path = testing::TempDir() + "/saved";
  Solver job(make_grid(parse_grid("5x5")), on_two_workers());
  ASSERT_TRUE(job.plan({}));
  ASSERT_TRUE(job.factorise());
  job.save(path);
  EXPECT_THROW((void)Solver::load(path, options), FileError);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
