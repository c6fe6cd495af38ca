// The cases of one subject, which share their instances: over 300 lines.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "espalier/model/replay.h"
#include "solver/matrix/grid.h"
#include "solver/refine/refine.h"
#include "solver/runtime/factorise.h"
#include "solver/solve/triangular_solve.h"
#include "solver/support/systems.h"
#include "solver/symbolic/check_symbolic.h"
#include "support/random_tree.h"

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

struct Instance {
  Instance(std::mt19937& random, SymmetricMatrix matrix)
      : analysis(analyse(std::move(matrix), random_analysis(random))),
        options(random_assembly(random)) {
    // What the runtime needs is not allocated here; without it peaks are exact.
    options.bytes_per_task = options.bytes_per_block = 0;
    tree = build_assembly_tree(analysis.symbolic, options);
    order = support::random_order(tree.tasks, random);
  }
  [[nodiscard]] std::string text() const {
    return describe(analysis, options) + "; order " + support::describe(order);
  }
  [[nodiscard]] FactorInput input() const {
    return {analysis.symbolic, analysis.permuted, tree, {}};
  }
  [[nodiscard]] tl::expected<Factor<double>, NotPositiveDefinite> run() {
    return factorise_sequentially<double>(input(), order, report);
  }

  Analysis analysis;
  AssemblyOptions options;
  AssemblyTree tree;
  std::vector<TaskId> order;
  FactorReport report;
};

// The factor's entries, zeros where no front has one.
Dense dense_factor(const Instance& instance, const Factor<double>& factor) {
  const Symbolic& symbolic = instance.analysis.symbolic;
  Dense l(symbolic.size);
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s) {
    const Trapezoid panel = instance.tree.panel(symbolic, s);
    const auto* const storage =
        factor.storage[instance.tree.node_of_front[s]].as<const double>();
    const std::int32_t first = symbolic.first_column[s], pivots = symbolic.pivots(s);
    for (std::int32_t j = 0; j < pivots; ++j)
      for (std::int32_t i = j; i < panel.rows(); ++i)
        l(i < pivots ? first + i : symbolic.rows_of(s)[i - pivots], first + j) =
            factor.panel_data(s, storage)[panel.column_offset(j) + i];
  }
  return l;
}

// |A - L L^T| is small entry by entry, next to sqrt(a_ii a_jj) [Dem89].
void expect_factor_of(const Dense& a, const Dense& l) {
  const std::int32_t n = a.size();
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int32_t i = j; i < n; ++i) {
      long double sum = a(i, j);
      for (std::int32_t k = 0; k <= j; ++k) sum -= l(i, k) * l(j, k);
      ASSERT_LE(std::abs(sum), (n + 4) * kEpsilon * std::sqrt(a(i, i) * a(j, j)))
          << "entry " << i << " " << j;
    }
}

void expect_solutions(std::mt19937& random, const Instance& instance,
                      const Factor<double>& factor, const Dense& exact_factor) {
  const SymmetricMatrix& a = instance.analysis.permuted.lower;
  const auto n = static_cast<std::size_t>(a.size);
  std::vector<double> b(n);
  for (double& value : b) value = draw(random, -9, 9);
  const auto solve = [&](std::span<double> v, std::int32_t) {
    solve_in_place<double>({instance.analysis.symbolic, instance.tree, factor}, v);
  };
  std::vector<double> x = b;
  solve(x, 1);
  // In the scaling that makes the diagonal 1 the matrix is well conditioned.
  const std::vector<long double> exact = dense_solve(exact_factor, {b.begin(), b.end()});
  const auto scaled = [&](std::size_t i, long double v) {
    return std::abs(v) * std::sqrt(a.value[a.column_start[i]]);
  };
  long double largest = 0;
  for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, scaled(i, exact[i]));
  for (std::size_t i = 0; i < n; ++i)
    ASSERT_LE(scaled(i, x[i] - exact[i]), 1e-12 * largest) << "x" << i;
  ASSERT_LE(refine(instance.analysis.permuted, b, x, 1, solve).backward_error,
            kEnoughToBegin);
}

void check(std::mt19937& random, Instance& instance) {
  const auto factor = instance.run();
  ASSERT_TRUE(factor.has_value()) << "column " << factor.error().column;
  const Dense a(instance.analysis.permuted.lower);
  Dense exact = a;
  ASSERT_EQ(eliminate(exact, 0, a.size()), -1);
  expect_factor_of(a, dense_factor(instance, *factor));
  expect_solutions(random, instance, *factor, exact);
  const Bytes peak = replay(instance.tree.tasks, instance.order).peak;
  // Tiled fronts are planned for to a page or two for each side and child.
  ASSERT_LE(instance.report.allocated_peak, peak);
  const auto tiled = [](const AssemblyTree::Node& node) { return node.tiled; };
  if (std::none_of(instance.tree.nodes.begin(), instance.tree.nodes.end(), tiled)) {
    ASSERT_EQ(instance.report.allocated_peak, peak);
  }
  ASSERT_EQ(instance.report.tasks, static_cast<std::int64_t>(instance.order.size()));
}

TEST(FactoriseSequentially, SolvesSmallSystems) {
  std::mt19937 random(10);
  for (int round = 0; round < 3000; ++round) {
    Instance instance(random,
                      random_spd(random, round < 20 ? round % 5 : draw(random, 0, 40)));
    check_symbolic(instance.analysis.symbolic, instance.analysis.permuted.lower);
    check(random, instance);
    if (HasFatalFailure()) FAIL() << instance.text();
  }
}

TEST(FactoriseSequentially, SolvesLargerSystemsWithSeveralBlocks) {
  std::mt19937 random(11);
  for (int round = 0; round < 18; ++round) {
    const auto shape = static_cast<Shape>(round % kShapes);
    const std::int32_t n = draw(random, 65, 230);
    Instance instance(random, random_values(random, random_pattern(random, shape, n), n));
    check(random, instance);
    if (HasFatalFailure()) FAIL() << "shape " << round << ": " << instance.text();
  }
}

TEST(FactoriseSequentially, ReachesTheSameFactorInAnyOrderOfNodes) {
  std::mt19937 random(12);
  for (int round = 0; round < 300; ++round) {
    Instance instance(random, random_spd(random, draw(random, 1, 60)));
    const auto first = instance.run();
    instance.order = support::random_order(instance.tree.tasks, random);
    const auto second = instance.run();
    ASSERT_TRUE(first && second) << instance.text();
    const Dense a = dense_factor(instance, *first), b = dense_factor(instance, *second);
    for (std::int32_t j = 0; j < a.size(); ++j)
      for (std::int32_t i = j; i < a.size(); ++i)
        ASSERT_EQ(a(i, j), b(i, j)) << instance.text();
  }
}

TEST(FactoriseSequentially, BooksNoLessForTheRuntimeThanItAllocates) {
  std::mt19937 random(13);
  for (int round = 0; round < 200; ++round) {
    Instance instance(random, random_spd(random, draw(random, 1, 80)));
    instance.options.bytes_per_task = AssemblyOptions{}.bytes_per_task;
    instance.options.bytes_per_block = AssemblyOptions{}.bytes_per_block;
    instance.tree = build_assembly_tree(instance.analysis.symbolic, instance.options);
    ASSERT_TRUE(instance.run()) << instance.text();
    ASSERT_LE(instance.report.allocated_peak,
              replay(instance.tree.tasks, instance.order).peak)
        << instance.text();
  }
}

// First column of the subtree of the front that eliminates `column`.
std::int32_t first_descendant(const Symbolic& symbolic, std::int32_t column) {
  std::int32_t front = 0;
  while (symbolic.first_column[front + 1] <= column) ++front;
  std::vector<std::int32_t> first(symbolic.fronts());
  std::iota(first.begin(), first.end(), 0);
  for (std::int32_t s = 0; s < front; ++s)
    if (const auto parent = symbolic.parent[s]; parent >= 0)
      first[parent] = std::min(first[parent], first[s]);
  return symbolic.first_column[first[front]];
}

// Makes one or more columns of the permuted matrix fail clearly.
void spoil(std::mt19937& random, SymmetricMatrix& a) {
  for (int k = draw(random, 1, 3); k > 0; --k) {
    const std::int32_t column = draw(random, 0, a.size - 1);
    const auto begin = a.column_start[column], end = a.column_start[column + 1];
    switch (draw(random, 0, 3)) {
      case 0:
        a.value[begin] = -a.value[begin];
        break;
      case 1:
        a.value[begin] = std::numeric_limits<double>::quiet_NaN();
        break;
      case 2:
        a.value[begin] = 0;
        break;
      default:  // an entry as large as only an indefinite matrix has
        a.value[draw(random, static_cast<int>(begin), static_cast<int>(end - 1))] *= -100;
    }
  }
}

TEST(FactoriseSequentially, NamesAColumnThatFailsAfterAllItsDescendantsHavePassed) {
  std::mt19937 random(14);
  for (int round = 0; round < 3000; ++round) {
    const std::int32_t n = round % 100 == 0 ? 150 : draw(random, 1, 40);
    Instance instance(random, random_spd(random, n));
    const Symbolic& symbolic = instance.analysis.symbolic;
    spoil(random, instance.analysis.permuted.lower);
    const Dense a(instance.analysis.permuted.lower);
    Dense exact = a;
    const std::int32_t first_bad = eliminate(exact, 0, n);
    const auto factor = instance.run();
    ASSERT_EQ(factor.has_value(), first_bad < 0) << instance.text();
    if (factor) continue;
    const std::int32_t column = factor.error().column;
    Dense part = a;
    ASSERT_EQ(eliminate(part, first_descendant(symbolic, column), column + 1), column)
        << instance.text();
    // Nodes in the order of their numbers meet the first one first.
    std::sort(instance.order.begin(), instance.order.end());
    ASSERT_EQ(instance.run().error().column, first_bad) << instance.text();
  }
}

TEST(FactoriseSequentially, NamesTheFirstEmptyRow) {
  SymmetricMatrix a{3, {0, 1, 1, 2}, {0, 2}, {4, 9}};
  AnalyseOptions natural;
  natural.ordering = OrderingKind::kNatural;
  const Analysis analysis = analyse(std::move(a), natural);
  const AssemblyTree tree = build_assembly_tree(analysis.symbolic, {});
  const std::vector<TaskId> order(tree.tasks.postorder().begin(),
                                  tree.tasks.postorder().end());
  FactorReport report;
  const auto factor = factorise_sequentially<double>(
      {analysis.symbolic, analysis.permuted, tree, {}}, order, report);
  ASSERT_FALSE(factor);
  EXPECT_EQ(analysis.symbolic.permutation[factor.error().column], 1);
}

TEST(FactoriseSequentially, TakesAMatrixOfOrderZero) {
  SymmetricMatrix none;
  none.column_start = {0};
  const Analysis analysis = analyse(std::move(none));
  const AssemblyTree tree = build_assembly_tree(analysis.symbolic, {});
  FactorReport report;
  const auto factor = factorise_sequentially<double>(
      {analysis.symbolic, analysis.permuted, tree, {}}, {}, report);
  ASSERT_TRUE(factor);
  EXPECT_EQ(report.allocated_peak, 0);
  solve_in_place<double>({analysis.symbolic, tree, *factor}, {});
}

TEST(FactoriseSequentially, SolvesALongTridiagonalSystem) {
  const Analysis analysis = analyse(make_grid({.nx = 50'000}));
  const AssemblyTree tree = build_assembly_tree(analysis.symbolic, {});
  FactorReport report;
  const auto factor = factorise_sequentially<double>(
      {analysis.symbolic, analysis.permuted, tree, {}}, tree.tasks.postorder(), report);
  ASSERT_TRUE(factor);
  // The Laplacian of a line against x = 1: b is 1 at both ends.
  const std::size_t n = 50'000;
  std::vector<double> x(n);
  multiply(analysis.permuted, Operation::kPlain, std::vector<double>(n, 1.0), x);
  const std::vector<double> b = x;
  const auto solve = [&](std::span<double> v, std::int32_t) {
    solve_in_place<double>({analysis.symbolic, tree, *factor}, v);
  };
  solve(x, 1);
  EXPECT_LE(refine(analysis.permuted, b, x, 1, solve).backward_error, 2 * kEpsilon);
}

// Eliminated along the cycle the entries of the last row decay without end.
TEST(FactoriseSequentially, LeavesNoSubnormalNumbers) {
  constexpr std::int32_t kSize = 3000;
  SymmetricMatrix cycle{.size = kSize, .column_start = {0}, .row = {}, .value = {}};
  for (std::int32_t j = 0; j < kSize; ++j) {
    cycle.row.push_back(j);
    cycle.value.push_back(3);
    for (const std::int32_t i : {j + 1, j == 0 ? kSize - 1 : 0})
      if (i > j && i < kSize) {
        cycle.row.push_back(i);
        cycle.value.push_back(-1);
      }
    cycle.column_start.push_back(std::ssize(cycle.row));
  }
  AnalyseOptions natural;
  natural.ordering = OrderingKind::kNatural;
  const Analysis analysis = analyse(std::move(cycle), natural);
  const AssemblyTree tree = build_assembly_tree(analysis.symbolic, {});
  FactorReport report;
  const auto factor = factorise_sequentially<double>(
      {analysis.symbolic, analysis.permuted, tree, {}}, tree.tasks.postorder(), report);
  ASSERT_TRUE(factor);
  std::int64_t zeros = 0;
  for (std::int32_t s = 0; s < analysis.symbolic.fronts(); ++s) {
    const double* const panel = factor->panel_data(
        s, factor->storage[tree.node_of_front[s]].template as<const double>());
    const std::int64_t entries = tree.panel(analysis.symbolic, s).entries();
    for (std::int64_t k = 0; k < entries; ++k) {
      ASSERT_NE(std::fpclassify(panel[k]), FP_SUBNORMAL) << s;
      zeros += panel[k] == 0 ? 1 : 0;
    }
  }
  EXPECT_GT(zeros, 0);
  volatile double least = std::numeric_limits<double>::min();
  EXPECT_GT(least / 2, 0);  // the caller has them still
}

TEST(PivotLog, KeepsTheEarliestColumn) {
  PivotLog check;
  EXPECT_FALSE(check.failed());
  EXPECT_FALSE(check.failure());
  for (const std::int32_t column : {7, 9, 3, 5}) check.fail(column);
  EXPECT_TRUE(check.failed());
  EXPECT_EQ(check.failure()->column, 3);
}

// Whatever compression saves, in units of any size, and where it saves nothing.
TEST(FactoriseSequentially, CompressedFrontsStayInWhatIsPlanned) {
  std::mt19937 random(17);
  Instance instance(random, random_spd(random, 1));
  AnalyseOptions analysis;
  analysis.ordering = OrderingKind::kNested;
  analysis.clusters = {kLowRankPivots, kLowRankWidth};
  instance.analysis = analyse(make_grid(parse_grid("20x20x20")), analysis);
  AssemblyOptions options;
  options.bytes_per_task = options.bytes_per_block = 0;
  options.low_rank = true;
  options.tiled_order = 64;
  options.subtree_floor = options.subtree_fraction = 0;
  for (const Bytes pages : {0, 1, 40})
    for (const double whole : {0.0, 0.3})
      for (const double tolerance : {1e-100, 1e-3}) {
        options.unit = pages * PageBuffer::footprint(1);
        options.whole_part = whole;
        instance.tree = build_assembly_tree(instance.analysis.symbolic, options);
        EXPECT_GT(std::ranges::count_if(instance.tree.nodes,
                                        &AssemblyTree::Node::low_rank_contribution),
                  0);
        instance.order = support::random_order(instance.tree.tasks, random);
        FactorInput input = instance.input();
        input.low_rank = {tolerance, tolerance};
        const auto factor =
            factorise_sequentially<double>(input, instance.order, instance.report);
        ASSERT_TRUE(factor.has_value());
        EXPECT_LE(instance.report.allocated_peak,
                  replay(instance.tree.tasks, instance.order).peak)
            << pages << " pages, " << whole << ", tolerance " << tolerance;
        const LowRankStatistics low = factor->low_rank();
        EXPECT_EQ(low.compressed > 0, tolerance > 1e-9);
        EXPECT_EQ(low.single > 0, tolerance > 1e-9);
      }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
