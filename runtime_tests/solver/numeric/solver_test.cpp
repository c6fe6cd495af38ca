#include "solver/solver.h"

#include <gtest/gtest.h>

#include <random>

#include "solver/grid.h"

namespace espalier::solver {
namespace {

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
  std::vector<double> b = job.row_sums();
  const Solution solution = job.solve(b);
  EXPECT_LE(solution.refinement.backward_error, 1e-15);
  for (const double x : b) EXPECT_NEAR(x, 1, 1e-10);
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

}  // namespace
}  // namespace espalier::solver
