#include "solver/front/fan_out_cholesky.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "solver/matrix/grid.h"
#include "solver/runtime/factorise.h"
#include "solver/support/systems.h"

namespace espalier::solver {
namespace {

// Of a well conditioned system, as a part of the largest number in question.
constexpr double kClose = 1e-12;

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
  [[nodiscard]] FanOutCholesky method() const {
    return {analysis.symbolic, tree, analysis.permuted.lower};
  }
  [[nodiscard]] tl::expected<Factor<double>, NotPositiveDefinite> other() const {
    const std::vector<TaskId> order = {task_id(std::size_t{0})};
    FactorReport report;
    return factorise_sequentially<double>(
        {analysis.symbolic, analysis.permuted, tree, {}}, order, report);
  }
  [[nodiscard]] double scale(std::int32_t i) const {
    return std::sqrt(a().value[a().column_start[i]]);
  }

  Analysis analysis;
  AssemblyTree tree;
};

void expect_same_panels(const Instance& instance, const Factor<double>& one,
                        const Factor<double>& other) {
  const Symbolic& symbolic = instance.analysis.symbolic;
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s) {
    ASSERT_EQ(one.front[s].offset, other.front[s].offset) << "front " << s;
    const std::int32_t order = symbolic.front_order(s), first = symbolic.first_column[s];
    const double* const l = one.panel_data(s, one.storage[0].as<double>());
    const double* const m = other.panel_data(s, other.storage[0].as<double>());
    for (std::int32_t j = 0; j < symbolic.pivots(s); ++j)
      for (std::int32_t i = j; i < order; ++i) {
        const std::int32_t row = i < symbolic.pivots(s)
                                     ? first + i
                                     : symbolic.rows_of(s)[i - symbolic.pivots(s)];
        ASSERT_NEAR(l[i + j * order], m[i + j * order], kClose * instance.scale(row))
            << "row " << row << ", column " << first + j;
      }
  }
}

void expect_same_solution(const Instance& instance, const FanOutCholesky& method,
                          const Factor<double>& factor, const Factor<double>& other) {
  std::vector<double> x(static_cast<std::size_t>(instance.a().size));
  std::iota(x.begin(), x.end(), -3.0);
  std::vector<double> y = x;
  method.solve(factor, x);
  solve_in_place<double>({instance.analysis.symbolic, instance.tree, other}, y);
  double largest = 0;
  for (std::int32_t i = 0; i < instance.a().size; ++i)
    largest = std::max(largest, std::abs(y[i]) * instance.scale(i));
  for (std::int32_t i = 0; i < instance.a().size; ++i)
    ASSERT_NEAR(x[i] * instance.scale(i), y[i] * instance.scale(i), kClose * largest);
}

void check(Instance& instance) {
  ASSERT_TRUE(FanOutCholesky::suits(instance.analysis.symbolic, instance.tree));
  FanOutCholesky method = instance.method();
  Factor<double> factor = method.make_factor(instance.analysis.symbolic, instance.tree);
  for (int turn = 0; turn < 2; ++turn) {
    const auto outcome = method.factorise(instance.a(), 0, factor);
    const auto other = instance.other();
    ASSERT_FALSE(outcome.failed.has_value());
    ASSERT_TRUE(other.has_value());
    expect_same_panels(instance, factor, *other);
    expect_same_solution(instance, method, factor, *other);
    for (double& value : instance.analysis.permuted.lower.value) value *= 4;
  }
}

//   4  2  .           2
//   2  5  4    L =    1 2
//   .  4  8           . 2 2
TEST(FanOutCholesky, FactorsAThreeByThreeMatrix) {
  const Instance instance({3, {0, 2, 4, 5}, {0, 1, 1, 2, 2}, {4, 2, 5, 4, 8}}, {0, 1, 2});
  FanOutCholesky method = instance.method();
  Factor<double> factor = method.make_factor(instance.analysis.symbolic, instance.tree);
  const auto outcome = method.factorise(instance.a(), 0, factor);
  EXPECT_FALSE(outcome.failed.has_value());
  EXPECT_DOUBLE_EQ(outcome.smallest, 0.5);  // 4 of 8
  std::vector<double> x = {8, 24, 32};      // L L^T (1, 2, 3)
  method.solve(factor, x);
  EXPECT_NEAR(x[0], 1, kClose);
  EXPECT_NEAR(x[1], 2, kClose);
  EXPECT_NEAR(x[2], 3, kClose);
}

TEST(FanOutCholesky, IsTheFactorOfTheOtherMethod) {
  std::mt19937 random(7);
  int suited = 0;
  for (int round = 0; round < 1000; ++round) {
    Instance instance(random_spd(random, draw(random, 1, 60)));
    if (!FanOutCholesky::suits(instance.analysis.symbolic, instance.tree)) continue;
    ++suited;
    check(instance);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
  EXPECT_GT(suited, 900);
}

TEST(FanOutCholesky, HasWideFronts) {
  for (const std::int32_t side : {12, 20, 30}) {
    Instance instance(make_grid({.nx = side, .ny = side}));
    check(instance);
    if (HasFatalFailure()) FAIL() << side;
  }
}

TEST(FanOutCholesky, FailsWhereTheOtherMethodDoes) {
  std::mt19937 random(8);
  for (int round = 0; round < 300; ++round) {
    Instance instance(random_spd(random, draw(random, 1, 40)));
    if (!FanOutCholesky::suits(instance.analysis.symbolic, instance.tree)) continue;
    SymmetricMatrix& a = instance.analysis.permuted.lower;
    const int column = draw(random, 0, a.size - 1);
    a.value[a.column_start[column]] *= -1;
    FanOutCholesky method = instance.method();
    Factor<double> factor = method.make_factor(instance.analysis.symbolic, instance.tree);
    const auto outcome = method.factorise(a, 0, factor);
    const auto other = instance.other();
    ASSERT_FALSE(other.has_value());
    ASSERT_TRUE(outcome.failed.has_value()) << "round " << round;
    EXPECT_EQ(outcome.failed->column, other.error().column) << "round " << round;
  }
}

// A pivot that is less than a part of what was given counts as not positive.
TEST(FanOutCholesky, RefusesWhatRoundingLeft) {
  const Instance instance({2, {0, 2, 3}, {0, 1, 1}, {1, 1, 1 + 1e-9}}, {0, 1});
  FanOutCholesky method = instance.method();
  Factor<double> factor = method.make_factor(instance.analysis.symbolic, instance.tree);
  EXPECT_FALSE(method.factorise(instance.a(), 1e-10, factor).failed.has_value());
  const auto outcome = method.factorise(instance.a(), 1e-8, factor);
  ASSERT_TRUE(outcome.failed.has_value());
  EXPECT_EQ(outcome.failed->column, 1);
}

}  // namespace
}  // namespace espalier::solver
