// Block low rank from the option to the solution.

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "espalier/solver/solver.h"
#include "solver/matrix/grid.h"
#include "solver/memory/memory_account.h"
#include "solver/tree/assembly_tree.h"

namespace espalier::solver {
namespace TEST_SOURCE {

SolverOptions with_tolerance(double tolerance, std::int32_t workers = 1) {
  SolverOptions options;
  options.kind = FactorKind::kCholesky;
  options.workers = workers;
  options.runtime_flops = 0;
  options.low_rank = tolerance;
  return options;
}

struct Outcome {
  FactorReport report;
  std::vector<double> x;
  Refinement refinement;
  double logarithm;
};

Outcome run(const char* grid, const SolverOptions& options, std::int32_t columns = 1) {
  Solver solver(make_grid(parse_grid(grid)), options);
  EXPECT_TRUE(solver.plan(solver.least()));
  auto factored = solver.factorise();
  EXPECT_TRUE(factored);
  Outcome result{*factored, solver.apply_to_ones(), {}, 0};
  const std::vector<double> one = result.x;
  for (std::int32_t k = 1; k < columns; ++k)
    result.x.insert(result.x.end(), one.begin(), one.end());
  result.refinement = solver.solve(result.x, columns).refinement;
  result.logarithm = solver.determinant().log_modulus();
  return result;
}

TEST(LowRank, SolvesToFullAccuracyWithEveryTolerance) {
  Bytes before = 0;
  for (const double tolerance : {1e-2, 1e-4, 1e-7}) {
    for (const std::int32_t columns : {1, 3}) {
      const Outcome done = run("24x24x24", with_tolerance(tolerance), columns);
      EXPECT_LE(done.refinement.backward_error, 1e-14) << tolerance;
      for (const double x : done.x) ASSERT_NEAR(x, 1, 1e-9) << tolerance;
      const LowRankStatistics& low = done.report.low_rank;
      EXPECT_GT(low.compressed, 0) << tolerance;
      EXPECT_GT(low.single, 0) << tolerance;
      EXPECT_LT(low.bytes, low.full_bytes);
      EXPECT_LT(low.flops, low.full_flops);
      EXPECT_GE(low.bytes, before) << "of a smaller tolerance";
      EXPECT_LE(low.rank_max, kLowRankWidth / 2) << "a tile takes no more than it did";
      EXPECT_LE(done.report.allocated_peak, done.report.booked_peak);
      before = low.bytes;
    }
  }
}

// Of several vectors: the root's tiles are shared out.
TEST(LowRank, SolvesForManyToTheSameBitsOnAnyNumberOfWorkers) {
  SolverOptions options = with_tolerance(1e-5);
  options.refine = false;
  const std::vector<double> one = run("24x24x24", options, 6).x;
  for (const std::int32_t workers : {2, 4}) {
    options.workers = workers;
    EXPECT_EQ(run("24x24x24", options, 6).x, one) << workers << " workers";
  }
}

TEST(LowRank, HasTheSameBitsOnOneAndTwoWorkers) {
  SolverOptions one = with_tolerance(1e-5), two = with_tolerance(1e-5, 2);
  one.refine = two.refine = false;
  const Outcome first = run("20x20x20", one), second = run("20x20x20", two);
  ASSERT_GT(first.report.low_rank.compressed, 0);
  EXPECT_EQ(first.x, second.x);
  EXPECT_EQ(first.report.low_rank.bytes, second.report.low_rank.bytes);
  EXPECT_EQ(first.report.low_rank.flops, second.report.low_rank.flops);
  EXPECT_NE(first.x, run("20x20x20", with_tolerance(1e-4)).x);
}

TEST(LowRank, InSinglePrecision) {
  SolverOptions options = with_tolerance(1e-3);
  options.precision = Precision::kSingle;
  const Outcome done = run("20x20x20", options);
  EXPECT_GT(done.report.low_rank.compressed, 0);
  EXPECT_EQ(done.report.low_rank.single, 0) << "all is";
  EXPECT_LE(done.refinement.backward_error, 1e-14);
}

// Single precision has another range, which scaling brings all of these into.
TEST(LowRank, DoesNotDependOnTheUnitsOfTheMatrix) {
  const SymmetricMatrix given = make_grid(parse_grid("18x18x18"));
  std::int32_t largest = -1;
  for (const double unit : {1.0, 0x1p-40, 0x1p50, 0x1p-200, 0x1p300}) {
    SymmetricMatrix matrix = given;
    for (double& value : matrix.value) value *= unit;
    SolverOptions options = with_tolerance(1e-4);
    options.prepare.scaling = PrepareOptions::Scaling::kNone;
    Solver solver(matrix, options);
    ASSERT_TRUE(solver.plan(solver.least()));
    const auto report = solver.factorise();
    ASSERT_TRUE(report);
    std::vector<double> x = solver.apply_to_ones();
    EXPECT_LE(solver.solve(x).refinement.backward_error, 1e-14) << unit;
    for (const double value : x) ASSERT_NEAR(value, 1, 1e-9) << unit;
    EXPECT_GT(report->low_rank.single, 0) << unit;
    if (largest < 0) largest = report->low_rank.rank_max;
    EXPECT_NEAR(report->low_rank.rank_max, largest, 2) << unit;
  }
}

TEST(LowRank, LeavesTheDeterminantItsDigits) {
  const double full = run("20x20x20", with_tolerance(0)).logarithm;
  const Outcome low = run("20x20x20", with_tolerance(1e-5));
  ASSERT_GT(low.report.low_rank.compressed, 0);
  EXPECT_NEAR(low.logarithm, full, 1e-5 * std::abs(full));
}

TEST(LowRank, OfNothingIsWhatItWas) {
  SolverOptions plain;
  plain.kind = FactorKind::kCholesky;
  plain.runtime_flops = 0;
  const Outcome without = run("14x14x14", plain),
                zero = run("14x14x14", with_tolerance(0));
  EXPECT_EQ(without.x, zero.x);
  EXPECT_EQ(zero.report.low_rank.blocks, 0);
  EXPECT_EQ(without.report.tasks, zero.report.tasks);
}

// A 1 = 0, so that no solution has a right-hand side whose entries have a sum. What
// compression leaves of the last pivot is far from 0.
TEST(LowRank, DoesNotHideThatAMatrixIsSingular) {
  SymmetricMatrix laplacian = make_grid(parse_grid("24x24x24"));
  std::vector<double> sum(static_cast<std::size_t>(laplacian.size), 0);
  for (std::int32_t j = 0; j < laplacian.size; ++j)
    for (auto k = laplacian.column_start[j]; k < laplacian.column_start[j + 1]; ++k)
      if (laplacian.row[k] != j) {
        sum[j] += laplacian.value[k];
        sum[laplacian.row[k]] += laplacian.value[k];
      }
  for (std::int32_t j = 0; j < laplacian.size; ++j)
    laplacian.value[laplacian.column_start[j]] = -sum[j];
  for (const double tolerance : {1e-2, 1e-4, 1e-8}) {
    SolverOptions options = with_tolerance(tolerance);
    options.kind.reset();
    Solver solver(SymmetricMatrix(laplacian), options);
    ASSERT_TRUE(solver.plan(std::nullopt));
    ASSERT_TRUE(solver.factorise());
    std::vector<double> x(sum.size(), 0);
    x.front() = 1;
    const Doubts doubts = solver.solve(x).doubts;
    EXPECT_TRUE(doubts.any()) << tolerance;
  }
}

// Positive on the diagonal and yet indefinite: L L^T fails in fronts that are compressed.
TEST(LowRank, GoesOnAtFullRankWhereTheMatrixIsNotDefinite) {
  SymmetricMatrix shifted = make_grid(parse_grid("24x24x24"));
  for (std::int32_t j = 0; j < shifted.size; ++j)
    shifted.value[shifted.column_start[j]] -= 0.5;
  for (const std::int32_t workers : {1, 2}) {
    SolverOptions options = with_tolerance(1e-4, workers);
    options.kind.reset();
    Solver solver(SymmetricMatrix(shifted), options);
    ASSERT_TRUE(solver.plan(solver.least()));
    const auto factored = solver.factorise();
    ASSERT_TRUE(factored);
    EXPECT_EQ(solver.kind(), FactorKind::kLdlt);
    EXPECT_GT(factored->pivots.negative, 0);
    EXPECT_EQ(factored->low_rank.compressed, 0);
    std::vector<double> x = solver.apply_to_ones();
    EXPECT_LE(solver.solve(x).refinement.backward_error, 1e-14);
    for (const double each : x) ASSERT_NEAR(each, 1, 1e-8);
  }
}

// Below what suffices at full rank the same is computed, or nothing.
TEST(LowRank, EndsInABoundBelowTheLeastOrSaysThatItDoesNotFit) {
  SolverOptions options = with_tolerance(1e-2, 2);
  options.analysis.ordering = OrderingKind::kMetis;  // no other is tried
  options.refine = false;
  Solver solver(make_grid(parse_grid("24x24x24")), options);
  const Bytes least = solver.memory().needed();
  const auto solved_in = [&](Bytes bound) -> std::optional<std::vector<double>> {
    const bool planned = solver.plan(bound).has_value();
    EXPECT_TRUE(planned);
    if (!planned) return std::nullopt;
    EXPECT_EQ(solver.may_not_fit(), bound < least);
    try {
      const auto factored = solver.factorise();
      EXPECT_TRUE(factored);
      EXPECT_GT(factored->given_back, 0);
      EXPECT_LE(factored->booked_peak, solver.memory().tree_bound(bound));
      EXPECT_LE(factored->allocated_peak, factored->booked_peak);
    } catch (const DoesNotFit& error) {
      EXPECT_NE(std::string(error.what()).find("misses"), std::string::npos);
      return std::nullopt;
    }
    std::vector<double> x = solver.apply_to_ones();
    (void)solver.solve(x);
    return x;
  };
  const auto full = solved_in(least);
  ASSERT_TRUE(full);
  const Bytes step = solver.memory().tree_least / 40;
  int fewer = 0;
  for (Bytes bound = least - step; true; bound -= step) {
    const auto x = solved_in(bound);
    if (!x) break;
    ++fewer;
    EXPECT_EQ(*x, *full);
  }
  EXPECT_GE(fewer, 2) << "of " << solver.memory().tree_least << " bytes";
  EXPECT_TRUE(solved_in(least)) << "after one that did not fit";
}

TEST(LowRank, RefusesABoundInWhichNoFrontWouldFit) {
  Solver solver(make_grid(parse_grid("24x24x24")), with_tolerance(1e-3));
  const auto planned = solver.plan(solver.memory().baseline);
  ASSERT_FALSE(planned);
  EXPECT_GT(planned.error().lower_bound_bytes, solver.memory().baseline);
  EXPECT_LT(planned.error().lower_bound_bytes, planned.error().least_bytes);
  EXPECT_FALSE(solver.may_not_fit());
}

TEST(LowRank, RefusesWhatItDoesNotCover) {
  const auto refuses = [](const SolverOptions& options) {
    try {
      Solver solver(make_grid(parse_grid("6x6")), options);
      ADD_FAILURE() << "accepted";
    } catch (const InvalidInput& error) {
      EXPECT_NE(std::string(error.what()).find("low_rank"), std::string::npos)
          << error.what();
    }
  };
  for (const double tolerance : {-1e-8, 1.0, std::nan("")})
    refuses(with_tolerance(tolerance));
  SolverOptions options = with_tolerance(1e-8);
  options.kind = FactorKind::kLdlt;
  refuses(options);
  options.kind = FactorKind::kLu;
  refuses(options);
  options = with_tolerance(1e-8);
  options.out_of_core = testing::TempDir();
  refuses(options);
  EXPECT_THROW(Solver(ComplexMatrix{}, with_tolerance(1e-8)), InvalidInput);
  Solver solver(make_grid(parse_grid("6x6")), with_tolerance(1e-8));
  ASSERT_TRUE(solver.plan(std::nullopt));
  ASSERT_TRUE(solver.factorise());
  EXPECT_THROW(solver.save(testing::TempDir() + "low_rank.factor"), InvalidInput);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
