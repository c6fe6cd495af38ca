#include "solver/front/repeated_cholesky.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "solver/matrix/grid.h"
#include "solver/runtime/factorise.h"
#include "solver/support/systems.h"

namespace espalier::solver {
namespace TEST_SOURCE {

AssemblyOptions assembly() {
  AssemblyOptions options;
  options.whole = true;
  return options;
}

AnalyseOptions in_order(std::vector<std::int32_t>&& order) {
  AnalyseOptions options;
  options.order = std::move(order);
  return options;
}

struct Instance {
  explicit Instance(SymmetricMatrix matrix, std::vector<std::int32_t> order = {})
      : analysis(analyse(std::move(matrix), in_order(std::move(order)))),
        tree(build_assembly_tree(analysis.symbolic, assembly())) {}

  [[nodiscard]] const SymmetricMatrix& a() const { return analysis.permuted.lower; }
  [[nodiscard]] RepeatedCholesky method() const {
    return {analysis.symbolic, tree, analysis.permuted.lower};
  }
  [[nodiscard]] tl::expected<Factor<double>, NotPositiveDefinite> other(
      FactorReport& report) const {
    const std::vector<TaskId> order = {task_id(std::size_t{0})};
    return factorise_sequentially<double>(
        {analysis.symbolic, analysis.permuted, tree, {}}, order, report);
  }
  Analysis analysis;
  AssemblyTree tree;
};

// The strict upper triangle of the pivots' own rows is nobody's.
void expect_same_panels(const Instance& instance, const Factor<double>& one,
                        const Factor<double>& other) {
  const Symbolic& symbolic = instance.analysis.symbolic;
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s) {
    ASSERT_EQ(one.offset[s], other.offset[s]) << "front " << s;
    const std::int32_t order = symbolic.front_order(s);
    const double* const l = one.panel_data(s, one.storage[0].as<double>());
    const double* const m = other.panel_data(s, other.storage[0].as<double>());
    for (std::int32_t j = 0; j < symbolic.pivots(s); ++j)
      for (std::int32_t i = j; i < order; ++i)
        ASSERT_EQ(l[i + j * order], m[i + j * order])
            << "front " << s << ", row " << i << ", column " << j;
  }
}

void check(Instance& instance) {
  ASSERT_TRUE(RepeatedCholesky::suits(instance.analysis.symbolic, instance.tree));
  RepeatedCholesky method = instance.method();
  Factor<double> factor = method.make_factor(instance.analysis.symbolic, instance.tree);
  for (int turn = 0; turn < 2; ++turn) {
    const auto outcome = method.factorise(instance.a(), 0, factor);
    FactorReport report;
    const auto other = instance.other(report);
    ASSERT_FALSE(outcome.failed.has_value());
    ASSERT_TRUE(other.has_value());
    // Of a front of one entry the other way knows that the part is 1.
    EXPECT_DOUBLE_EQ(outcome.smallest, report.pivots.smallest);
    expect_same_panels(instance, factor, *other);
    for (double& value : instance.analysis.permuted.lower.value) value *= 3;
  }
}

//   4  2  .           2
//   2  5  4    L =    1 2
//   .  4  8           . 2 2
TEST(RepeatedCholesky, FactorsAThreeByThreeMatrix) {
  const Instance instance({3, {0, 2, 4, 5}, {0, 1, 1, 2, 2}, {4, 2, 5, 4, 8}}, {0, 1, 2});
  RepeatedCholesky method = instance.method();
  Factor<double> factor = method.make_factor(instance.analysis.symbolic, instance.tree);
  const auto outcome = method.factorise(instance.a(), 0, factor);
  EXPECT_FALSE(outcome.failed.has_value());
  EXPECT_DOUBLE_EQ(outcome.smallest, 0.5);  // 4 of 8
  const Symbolic& symbolic = instance.analysis.symbolic;
  double l[3][3] = {};
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s)
    for (std::int32_t j = 0, first = symbolic.first_column[s]; j < symbolic.pivots(s);
         ++j)
      for (std::int32_t i = j; i < symbolic.front_order(s); ++i)
        l[first + i][first + j] = factor.panel_data(
            s, factor.storage[0].as<double>())[i + j * symbolic.front_order(s)];
  EXPECT_EQ(l[0][0], 2);
  EXPECT_EQ(l[1][0], 1);
  EXPECT_EQ(l[2][0], 0);
  EXPECT_EQ(l[1][1], 2);
  EXPECT_EQ(l[2][1], 2);
  EXPECT_EQ(l[2][2], 2);
}

TEST(RepeatedCholesky, HasTheBitsOfTheOtherWay) {
  std::mt19937 random(7);
  int suited = 0;
  for (int round = 0; round < 1000; ++round) {
    Instance instance(random_spd(random, draw(random, 1, 60)));
    if (!RepeatedCholesky::suits(instance.analysis.symbolic, instance.tree)) continue;
    ++suited;
    check(instance);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
  EXPECT_GT(suited, 900);
}

TEST(RepeatedCholesky, HasWideFronts) {
  for (const std::int32_t side : {12, 20, 30}) {
    Instance instance(make_grid({.nx = side, .ny = side}));
    check(instance);
    if (HasFatalFailure()) FAIL() << side;
  }
}

TEST(RepeatedCholesky, FailsWhereTheOtherMethodDoes) {
  std::mt19937 random(8);
  for (int round = 0; round < 300; ++round) {
    Instance instance(random_spd(random, draw(random, 1, 40)));
    if (!RepeatedCholesky::suits(instance.analysis.symbolic, instance.tree)) continue;
    SymmetricMatrix& a = instance.analysis.permuted.lower;
    const int column = draw(random, 0, a.size - 1);
    a.value[a.column_start[column]] *= -1;
    RepeatedCholesky method = instance.method();
    Factor<double> factor = method.make_factor(instance.analysis.symbolic, instance.tree);
    const auto outcome = method.factorise(a, 0, factor);
    FactorReport report;
    const auto other = instance.other(report);
    ASSERT_FALSE(other.has_value());
    ASSERT_TRUE(outcome.failed.has_value()) << "round " << round;
    EXPECT_EQ(outcome.failed->column, other.error().column) << "round " << round;
  }
}

// A pivot that is less than a part of what was given counts as not positive.
TEST(RepeatedCholesky, RefusesWhatRoundingLeft) {
  const Instance instance({2, {0, 2, 3}, {0, 1, 1}, {1, 1, 1 + 1e-9}}, {0, 1});
  RepeatedCholesky method = instance.method();
  Factor<double> factor = method.make_factor(instance.analysis.symbolic, instance.tree);
  EXPECT_FALSE(method.factorise(instance.a(), 1e-10, factor).failed.has_value());
  const auto outcome = method.factorise(instance.a(), 1e-8, factor);
  ASSERT_TRUE(outcome.failed.has_value());
  EXPECT_EQ(outcome.failed->column, 1);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
