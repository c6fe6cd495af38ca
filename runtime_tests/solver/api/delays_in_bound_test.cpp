// What of a bound is for delayed pivots, where nobody says how much.

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <utility>

#include "solver/api/solver.h"
#include "solver/memory/process_memory.h"

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr std::int32_t kWidth = 100, kPoints = kWidth * kWidth;
constexpr std::int32_t kMultipliers = kPoints / 2;

// Five points on a square and multipliers of a point in each half: without a matching
// they wait until one of the two is eliminated, up to large fronts.
SymmetricMatrix saddle_point() {
  SymmetricMatrix a;
  a.size = kPoints + kMultipliers;
  a.column_start.push_back(0);
  const auto add = [&](std::int32_t row, double value) {
    a.row.push_back(row);
    a.value.push_back(value);
  };
  for (std::int32_t k = 0; k < kPoints; ++k) {
    add(k, 4 + 1.0 / (k + 1));
    if (k % kWidth + 1 < kWidth) add(k + 1, -1);
    if (k + kWidth < kPoints) add(k + kWidth, -1);
    add(kPoints + k % kMultipliers, k < kMultipliers ? 30 : -17);
    a.column_start.push_back(std::ssize(a.row));
  }
  for (std::int32_t k = kPoints; k < a.size; ++k) {
    add(k, 0);
    a.column_start.push_back(std::ssize(a.row));
  }
  return a;
}

struct Outcome {
  PivotStatistics pivots;
  Determinant determinant;
};

// @param more  of a bound, beyond what is needed; none: no bound
Outcome outcome(std::optional<Bytes> more, std::optional<Bytes> reserve,
                bool on_runtime) {
  SolverOptions options;
  options.kind = FactorKind::kLdlt;
  options.prepare.scaling = PrepareOptions::Scaling::kEquilibrate;
  options.analysis.ordering = OrderingKind::kNested;
  options.delay_reserve = reserve;
  options.runtime_flops = on_runtime ? 0 : 1e18;
  Solver solver(saddle_point(), options);
  const std::optional<Bytes> bound =
      more ? std::optional(solver.memory().least() + *more) : std::nullopt;
  EXPECT_TRUE(solver.plan(bound));
  const auto report = solver.factorise();
  EXPECT_TRUE(report);
  if (bound) {
    EXPECT_LE(peak_resident_bytes(), *bound);
  }
  return {report->pivots, solver.determinant()};
}

TEST(DelaysInBound, HaveAPartOfWhatIsBeyondTheLeast) {
  constexpr Bytes kMuch = Bytes{256} << 20;
  for (const bool on_runtime : {false, true}) {
    const Outcome free_of_bounds = outcome(std::nullopt, std::nullopt, on_runtime);
    ASSERT_GT(free_of_bounds.pivots.delayed, 100);
    const Outcome least = outcome(0, std::nullopt, on_runtime);
    EXPECT_GT(least.pivots.not_delayed, 0);
    const Outcome much = outcome(kMuch, std::nullopt, on_runtime);
    EXPECT_EQ(much.pivots.not_delayed, 0);
    EXPECT_EQ(much.pivots.delayed, free_of_bounds.pivots.delayed);
    EXPECT_EQ(much.determinant.log_modulus(), free_of_bounds.determinant.log_modulus());
  }
}

// Who names a reserve has that, and no more.
TEST(DelaysInBound, HaveWhatIsNamedAlone) {
  constexpr Bytes kMuch = Bytes{256} << 20;
  EXPECT_GT(outcome(kMuch, Bytes{1} << 20, false).pivots.not_delayed, 0);
  EXPECT_EQ(outcome(kMuch, 0, false).pivots.delayed, 0);
}

TEST(DelaysInBound, AreTakenOffTheBoundOfTheTree) {
  MemoryAccount account{.baseline = 40, .reserve = 10, .tree_least = 30, .solve = 35};
  EXPECT_EQ(account.spare(100, false), 15);
  EXPECT_EQ(account.spare(80, false), 0);
  account.tree_least_out_of_core = 20;
  account.solve_out_of_core = 5;
  EXPECT_EQ(account.spare(100, true), 30);
  account.delays = 15;
  EXPECT_EQ(account.tree_bound(100), 35);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
