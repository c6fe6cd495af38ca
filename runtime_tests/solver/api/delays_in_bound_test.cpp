// What of a bound is for delayed pivots, where nobody says how much.

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <utility>

#include "solver/api/solver.h"
#include "solver/kernels/dense.h"
#include "solver/memory/process_memory.h"
#include "solver/runtime/factorise.h"
#include "solver/save/saved_system.h"
#include "solver/support/plans.h"
#include "solver/support/systems.h"

namespace espalier::solver {
namespace TEST_SOURCE {

// Five points on a square and multipliers of a point in each half: without a matching
// they wait until one of the two is eliminated, up to large fronts.
SymmetricMatrix saddle_point(std::int32_t width) {
  const std::int32_t points = width * width, multipliers = points / 2;
  SymmetricMatrix a;
  a.size = points + multipliers;
  a.column_start.push_back(0);
  const auto add = [&](std::int32_t row, double value) {
    a.row.push_back(row);
    a.value.push_back(value);
  };
  for (std::int32_t k = 0; k < points; ++k) {
    add(k, 4 + 1.0 / (k + 1));
    if (k % width + 1 < width) add(k + 1, -1);
    if (k + width < points) add(k + width, -1);
    add(points + k % multipliers, k < multipliers ? 30 : -17);
    a.column_start.push_back(std::ssize(a.row));
  }
  for (std::int32_t k = points; k < a.size; ++k) {
    add(k, 0);
    a.column_start.push_back(std::ssize(a.row));
  }
  return a;
}

struct Outcome {
  PivotStatistics pivots;
  Determinant determinant;
};

SolverOptions options_for(std::optional<Bytes> reserve, bool on_runtime) {
  SolverOptions options;
  options.kind = FactorKind::kLdlt;
  options.prepare.scaling = PrepareOptions::Scaling::kEquilibrate;
  options.analysis.ordering = OrderingKind::kNested;
  options.delay_reserve = reserve;
  options.runtime_flops = on_runtime ? 0 : 1e18;
  return options;
}

// @param more  of a bound, beyond what is needed; none: no bound
Outcome outcome(std::optional<Bytes> more, std::optional<Bytes> reserve, bool on_runtime,
                std::int32_t width = 200) {
  Solver solver(saddle_point(width), options_for(reserve, on_runtime));
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

// A quarter of each further byte, and all of those that nothing else can use.
TEST(DelaysInBound, HaveWhatNothingElseUses) {
  constexpr Bytes kMebibyte = Bytes{1} << 20;
  for (const bool on_runtime : {false, true}) {
    Solver solver(saddle_point(200), options_for(std::nullopt, on_runtime));
    const Bytes least = solver.memory().least();
    const auto of_the_next = [&](Bytes more) {
      EXPECT_TRUE(solver.plan(least + more));
      const Bytes delays = solver.memory().delays;
      EXPECT_TRUE(solver.plan(least + more + 4 * kMebibyte));
      return solver.memory().delays - delays;
    };
    EXPECT_EQ(of_the_next(0), kMebibyte);
    EXPECT_EQ(of_the_next(256 * kMebibyte), 4 * kMebibyte);
  }
}

// What panels grow by fits in 1 MiB; all of them would not.
TEST(DelaysInBound, AFewFitInTheLeast) {
  for (const bool on_runtime : {false, true}) {
    const Outcome free_of_bounds = outcome(std::nullopt, std::nullopt, on_runtime, 100);
    const Outcome least = outcome(0, std::nullopt, on_runtime, 100);
    EXPECT_EQ(least.pivots.not_delayed, 0);
    EXPECT_EQ(least.pivots.delayed, free_of_bounds.pivots.delayed);
    EXPECT_EQ(least.determinant.log_modulus(), free_of_bounds.determinant.log_modulus());
  }
}

// Who names a reserve has that, and no more.
TEST(DelaysInBound, HaveWhatIsNamedAlone) {
  constexpr Bytes kMuch = Bytes{256} << 20;
  EXPECT_GT(outcome(kMuch, Bytes{1} << 20, false).pivots.not_delayed, 0);
  EXPECT_EQ(outcome(kMuch, 0, false).pivots.delayed, 0);
}

// Edges of a square of points, of random weights, and no diagonal: of both signs there
// are as many eigenvalues.
SymmetricMatrix weighted_edges(std::int32_t width) {
  std::mt19937 random(1);
  std::normal_distribution<> weight;
  SymmetricMatrix a;
  a.size = width * width;
  a.column_start.push_back(0);
  for (std::int32_t k = 0; k < a.size; ++k) {
    for (const std::int32_t other : {k % width + 1 < width ? k + 1 : a.size, k + width})
      if (other < a.size) {
        a.row.push_back(other);
        a.value.push_back(weight(random));
      }
    a.column_start.push_back(std::ssize(a.row));
  }
  return a;
}

// Where a reserve runs out in the last front, more columns may follow: pivots that are
// replaced before are no null space.
TEST(DelaysInBound, AShortReserveMakesNothingSingular) {
  const SymmetricMatrix matrix = weighted_edges(30);
  int refused = 0, whole = 0;
  for (Bytes reserve = Bytes{512} << 10; reserve < Bytes{2} << 20; reserve += 32768) {
    SolverOptions options = options_for(reserve, false);
    options.prepare.scaling = PrepareOptions::Scaling::kNone;
    options.analysis.ordering = OrderingKind::kAmd;
    Solver solver(matrix, options);
    ASSERT_TRUE(solver.plan(Bytes{1} << 29));
    const auto report = solver.factorise();
    ASSERT_TRUE(report);
    EXPECT_EQ(report->pivots.null_space, 0) << reserve;
    ++(report->pivots.not_delayed > 0 ? refused : whole);
    if (report->pivots.not_delayed == 0) {
      EXPECT_EQ(report->pivots.negative, matrix.size / 2);
      EXPECT_EQ(report->pivots.perturbed, 0);
    }
  }
  EXPECT_GT(refused, 5);
  EXPECT_GT(whole, 5);
}

// A panel with delayed columns has the memory of the planned one: all pages that are in
// use at any time are inside what the tree has booked and the reserve.
TEST(DelaysInBound, PayForWhatPanelsGrowBy) {
  std::mt19937 random(23);
  kernels::use_one_blas_thread();
  std::int64_t delayed = 0, refused = 0;
  Bytes wider = 0;  // planned panels whose place others took
  for (const std::int32_t workers : {1, 3}) {
    const Runtime runtime({workers, "espalier"});
    for (int round = 0; round < 20; ++round) {
      const FactorKind kind = round % 2 == 0 ? FactorKind::kLdlt : FactorKind::kLu;
      const Analysis analysis =
          analyse(random_of_kind(random, draw(random, 300, 500), kind, Shape::kRandom),
                  random_analysis(random));
      AssemblyOptions options = random_assembly(random);
      options.kind = kind;
      options.tiled_order = draw(random, 20, 100);
      options.block_width = draw(random, 4, 60);
      const AssemblyTree tree = build_assembly_tree(analysis.symbolic, options);
      MemoryMeter resident;
      FactorInput input{analysis.symbolic,
                        analysis.permuted,
                        tree,
                        {.threshold = 0.5, .zero = 1e-30, .perturbation = 1e-6}};
      input.pivoting.delay_reserve = Bytes{draw(random, 1, 64)} << 12;
      input.resident = &resident;
      const auto plan = plan_for(tree, workers, 0);
      input.pool_limit = espalier_plan_bound(plan.get());
      FactorReport report;
      const auto factor = factorise<double>(input, runtime, plan.get(), report);
      ASSERT_TRUE(factor);
      delayed += report.pivots.delayed;
      refused += report.pivots.not_delayed;
      for (std::int32_t s = 0; s < analysis.symbolic.fronts(); ++s)
        if (factor->delayed_in(s) > 0)
          wider += Bytes{sizeof(double)} * tree.sides() *
                   tree.panel(analysis.symbolic, s).entries();
      EXPECT_LE(resident.peak(),
                espalier_plan_bound(plan.get()) + input.pivoting.delay_reserve)
          << describe(analysis, options);
    }
  }
  EXPECT_GT(delayed, 100);
  EXPECT_GT(refused, 100);
  EXPECT_GT(wider, 1 << 20);
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
