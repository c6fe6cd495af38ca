#include "solver/runtime/factorise.h"

#include <espalier.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "solver/matrix/grid.h"
#include "solver/memory/process_memory.h"
#include "solver/runtime/runtime.h"
#include "solver/support/plans.h"
#include "solver/support/systems.h"

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr Bytes kUnbounded = std::numeric_limits<Bytes>::max();
// A system, its tree, and the factor to the last bit by one thread without a runtime.
struct Instance {
  Instance(Analysis&& system, const AssemblyOptions& assembly)
      : analysis(std::move(system)),
        options(assembly),
        tree(build_assembly_tree(analysis.symbolic, assembly)),
        expected(
            factorise_sequentially<double>(input(), tree.tasks.postorder(), report)) {}

  [[nodiscard]] FactorInput input() const {
    return {analysis.symbolic, analysis.permuted, tree, {}};
  }

  Analysis analysis;
  AssemblyOptions options;
  AssemblyTree tree;
  FactorReport report;
  tl::expected<Factor<double>, NotPositiveDefinite> expected;
};

Instance random_instance(std::mt19937& random, std::int32_t n) {
  const AssemblyOptions options = random_assembly(random);
  return {analyse(random_spd(random, n), random_analysis(random)), options};
}

// Of all entries: what is behind the last one of a page may be anything.
void expect_same_bits(const Instance& instance, const Factor<double>& actual) {
  const Factor<double>& expected = *instance.expected;
  const AssemblyTree& tree = instance.tree;
  ASSERT_EQ(actual.storage.size(), expected.storage.size());
  for (std::size_t i = 0; i < expected.storage.size(); ++i) {
    const PageBuffer &a = actual.storage[i], &b = expected.storage[i];
    ASSERT_EQ(a.size(), b.size()) << "node " << i;
    std::size_t entries = 0;
    for (auto s = tree.nodes[i].first_front; s <= tree.nodes[i].last_front; ++s)
      entries +=
          static_cast<std::size_t>(tree.panel(instance.analysis.symbolic, s).entries());
    ASSERT_EQ(std::memcmp(a.data(), b.data(), entries * sizeof(double)), 0)
        << "node " << i;
  }
}

void run_and_check(const Runtime& runtime, const Instance& instance, Bytes bound) {
  const auto plan = runtime.espalier() ? plan_for(instance.tree, runtime.workers(), bound)
                                       : PlanPointer(nullptr, espalier_plan_destroy);
  FactorReport report;
  const auto factor = factorise<double>(instance.input(), runtime, plan.get(), report);
  ASSERT_TRUE(factor.has_value()) << "column " << factor.error().column;
  expect_same_bits(instance, *factor);
  ASSERT_GE(report.tasks, static_cast<std::int64_t>(instance.tree.nodes.size()));
  if (!runtime.espalier()) return;
  ASSERT_LE(report.booked_peak, espalier_plan_bound(plan.get()));
  ASSERT_LE(report.allocated_peak, report.booked_peak);
}

// At the least bound, a tenth above it, and without a bound.
void run_at_all_bounds(const Runtime& runtime, const Instance& instance) {
  Bytes least = 0;
  if (runtime.espalier()) plan_for(instance.tree, runtime.workers(), 0, &least);
  for (const Bytes bound : {least, least + least / 10, kUnbounded}) {
    run_and_check(runtime, instance, bound);
    if (testing::Test::HasFatalFailure())
      FAIL() << "bound " << bound << ", least " << least << ", "
             << describe(instance.analysis, instance.options);
    if (!runtime.espalier()) break;
  }
}

// One runtime for all the tests of a suite: starting one takes a while.
template <class Choice>
class Factorise : public testing::Test {
 protected:
  static void SetUpTestSuite() { runtime_.emplace(Choice::options()); }
  static void TearDownTestSuite() { runtime_.reset(); }
  [[nodiscard]] static const Runtime& runtime() { return *runtime_; }
  [[nodiscard]] static PlanPointer plan(const AssemblyTree& tree, Bytes bound) {
    if (!runtime().espalier()) return {nullptr, espalier_plan_destroy};
    return plan_for(tree, runtime().workers(), bound);
  }

 private:
  static inline std::optional<Runtime> runtime_;
};

struct EspalierOnOne {
  static RuntimeOptions options() { return {1, "espalier"}; }
};
struct EspalierOnTwo {
  static RuntimeOptions options() { return {2, "espalier"}; }
};
struct EspalierOnFour {
  static RuntimeOptions options() { return {4, "espalier"}; }
};
struct LwsOnTwo {
  static RuntimeOptions options() { return {2, "lws"}; }
};
struct PrioOnFour {
  static RuntimeOptions options() { return {4, "prio"}; }
};
struct EagerOnTwo {
  static RuntimeOptions options() { return {2, "eager"}; }
};
using Choices = testing::Types<EspalierOnOne, EspalierOnTwo, EspalierOnFour, LwsOnTwo,
                               PrioOnFour, EagerOnTwo>;
TYPED_TEST_SUITE(Factorise, Choices);

TYPED_TEST(Factorise, ReachesTheSequentialFactorToTheLastBit) {
  std::mt19937 random(20);
  for (int round = 0; round < 60; ++round) {
    const Instance instance = random_instance(random, draw(random, 1, 50));
    ASSERT_TRUE(instance.expected);
    run_at_all_bounds(this->runtime(), instance);
    if (this->HasFatalFailure()) FAIL() << "round " << round;
  }
}

TYPED_TEST(Factorise, RunsFrontsOfManyTiles) {
  for (const char* grid : {"9x9x9", "40x40"}) {
    for (const std::int32_t tiled_order : {1, 64}) {
      const Instance instance(analyse(make_grid(parse_grid(grid))),
                              {.workers = this->runtime().workers(),
                               .subtree_fraction = 0,
                               .subtree_floor = 0,
                               .tiled_order = tiled_order});
      run_at_all_bounds(this->runtime(), instance);
      if (this->HasFatalFailure()) FAIL() << grid;
    }
  }
  std::mt19937 random(21);
  const std::int32_t n = 700;
  const Instance dense(
      analyse(random_values(random, random_pattern(random, Shape::kDense, n), n)),
      {.workers = this->runtime().workers()});
  ASSERT_TRUE(dense.tree.nodes[0].tiled);
  ASSERT_GT(dense.tree.panel(dense.analysis.symbolic, 0).blocks(), 5);
  run_at_all_bounds(this->runtime(), dense);
}

TYPED_TEST(Factorise, RunsMatricesOfOrderZeroAndForestsOfSingletons) {
  std::mt19937 random(22);
  for (const std::int32_t n : {0, 1, 300}) {
    const Instance instance(analyse(random_values(random, {}, n)),
                            {.workers = this->runtime().workers(),
                             .subtree_fraction = 0,
                             .subtree_floor = 0});
    run_at_all_bounds(this->runtime(), instance);
  }
}

TYPED_TEST(Factorise, NamesABadPivotAndLeavesNothingBehind) {
  std::mt19937 random(23);
  Analysis analysis = analyse(make_grid(parse_grid("10x10x10")));
  const AssemblyTree tree = build_assembly_tree(
      analysis.symbolic,
      {.workers = this->runtime().workers(), .subtree_fraction = 0, .tiled_order = 64});
  const auto plan = this->plan(tree, 0);
  Bytes resident = 0;
  for (int round = 0; round < 60; ++round) {
    const auto column = round == 0 ? 999 : draw(random, 0, 999);
    double& diagonal =
        analysis.permuted.lower.value[analysis.permuted.lower.column_start[column]];
    const double kept = std::exchange(diagonal, round % 2 == 0 ? -1 : std::nan(""));
    FactorReport report;
    const auto factor =
        factorise<double>({analysis.symbolic, analysis.permuted, tree, {}},
                          this->runtime(), plan.get(), report);
    ASSERT_FALSE(factor.has_value()) << column;
    ASSERT_EQ(factor.error().column, column);
    diagonal = kept;
    if (round == 9) resident = resident_bytes();
  }
  const Bytes growth = resident_bytes() - resident;
  FactorReport report;
  EXPECT_TRUE(factorise<double>({analysis.symbolic, analysis.permuted, tree, {}},
                                this->runtime(), plan.get(), report));
  EXPECT_LE(growth, 10 * report.allocated_peak);  // of fifty runs
}

TYPED_TEST(Factorise, TellsItsProgress) {
  const Instance instance(analyse(make_grid(parse_grid("60x60"))), {});
  const auto plan = this->plan(instance.tree, kUnbounded);
  FactorReport report;
  double last = 0;
  const auto factor = factorise<double>(instance.input(), this->runtime(), plan.get(),
                                        report, [&](double part) {
                                          EXPECT_LE(last, part);
                                          EXPECT_LE(part, 1 + 1e-12);
                                          last = part;
                                        });
  EXPECT_TRUE(factor);
}

// Trees of few tasks, where ends and starts meet: what races there are show here.
TEST(FactoriseOnStarPU, RunsManySmallTrees) {
  std::mt19937 random(24);
  for (const std::int32_t workers : {2, 3, 4}) {
    const Runtime runtime({workers, "espalier"});
    for (int round = 0; round < 250; ++round) {
      const Instance instance = random_instance(random, draw(random, 1, 14));
      run_and_check(runtime, instance, round % 2 == 0 ? 0 : kUnbounded);
      if (HasFatalFailure())
        FAIL() << "round " << round << " on " << workers
               << " workers: " << describe(instance.analysis, instance.options);
    }
  }
}

TEST(FactoriseOnStarPU, PlansGoWithTheSchedulerEspalierAlone) {
  std::mt19937 random(25);
  const Instance instance = random_instance(random, 10);
  const auto plan = plan_for(instance.tree, 1, 0);
  FactorReport report;
  const auto run = [&](const Runtime& runtime, const espalier_plan* with) {
    return factorise<double>(instance.input(), runtime, with, report);
  };
  {
    const Runtime runtime({1, "espalier"});
    EXPECT_THROW((void)run(runtime, nullptr), InvalidInput);
    EXPECT_TRUE(run(runtime, plan.get()));
  }
  const Runtime runtime({1, "lws"});
  EXPECT_THROW((void)run(runtime, plan.get()), InvalidInput);
  EXPECT_TRUE(run(runtime, nullptr));
}

TEST(FactoriseOnStarPU, ThrowsWhatTheSystemRefusesInATask) {
  std::mt19937 random(26);
  Instance instance(analyse(make_grid(parse_grid("12x12"))),
                    {.subtree_fraction = 0, .subtree_floor = 0});
  // The root's stack: more than any machine has.
  instance.tree.nodes.back().stack_entries = std::int64_t{1} << 57;
  const Runtime runtime({2, "espalier"});
  const auto plan = plan_for(instance.tree, 2, 0);
  FactorReport report;
  for (int round = 0; round < 3; ++round)
    EXPECT_THROW((void)factorise<double>(instance.input(), runtime, plan.get(), report),
                 Error);
}

void expect_refused(const RuntimeOptions& options, const char* said) {
  try {
    const Runtime runtime(options);
    FAIL() << "started";
  } catch (const InvalidInput& error) {
    EXPECT_NE(std::string(error.what()).find(said), std::string::npos) << error.what();
  }
}

TEST(Runtime, RefusesWhatItCannotGive) {
  expect_refused({0, "espalier"}, "workers is 0");
  expect_refused({-3, "espalier"}, "workers is -3");
  expect_refused({1, "nosuch"}, "unknown scheduler 'nosuch': one of espalier, ");
  expect_refused({1, ""}, "unknown scheduler ''");
  expect_refused({100'000, "lws"}, "from 1 to");
  const Runtime runtime({1, "espalier"});  // none of that stands in the way
  EXPECT_TRUE(runtime.espalier());
}

TEST(Runtime, CanBeStartedAgainAndWarmedUp) {
  for (int round = 0; round < 3; ++round) {
    Runtime runtime({2, round == 1 ? "lws" : "espalier"});
    runtime.warm_up();
    EXPECT_EQ(runtime.workers(), 2);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
