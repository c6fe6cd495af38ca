// Orders of elimination that are weighed against each other for the sake of a bound.
// The cases of one subject, which share their instances: over 300 lines.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <ostream>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "espalier/solver/solver.h"
#include "espalier_solver.h"
#include "solver/matrix/grid.h"
#include "solver/memory/memory_account.h"
#include "solver/memory/process_memory.h"
#include "solver/ordering/ordering.h"
#include "solver/ordering/other_ordering.h"
#include "solver/symbolic/analyse.h"

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr std::int32_t kWidth = 200;

SymmetricMatrix plane() { return make_grid({kWidth, kWidth, 1}); }

SolverOptions ordered(OrderingKind ordering) {
  SolverOptions options;
  options.kind = FactorKind::kCholesky;
  options.analysis.ordering = ordering;
  return options;
}

Bytes inside(OrderingKind ordering) {
  return Solver(plane(), ordered(ordering)).memory().inside();
}

bool all_near_one(std::span<const double> x, std::size_t step) {
  for (std::size_t k = 0; k < x.size(); ++k)
    if (!(std::abs(x[k] - (k % step == 0 ? 1 : 0)) < 1e-8)) return false;
  return true;
}

// Inside the bound, on the right-hand side of ones.
void expect_solves(Solver& solver, Bytes bound) {
  ASSERT_TRUE(solver.plan(bound));
  ASSERT_TRUE(solver.factorise());
  std::vector<double> x = solver.apply_to_ones();
  const Solution solution = solver.solve(x);
  EXPECT_FALSE(solution.doubts.any());
  EXPECT_TRUE(all_near_one(x, solver.complex() ? 2 : 1));
  EXPECT_LE(solver.peak_resident(), bound);
}

TEST(SettleOrder, TakesABoundBetweenTheTwoLeasts) {
  const Bytes more = inside(OrderingKind::kAmd),
              less = inside(*other_ordering(OrderingKind::kAmd, kWidth * kWidth));
  ASSERT_LT(less, more);
  reset_peak_resident();
  Solver solver(plane(), ordered(OrderingKind::kAuto));
  ASSERT_EQ(solver.analysis().seconds.ordering_taken, OrderingKind::kAmd);
  ASSERT_EQ(solver.memory().inside(), more);
  const Bytes between = solver.memory().needed() - (more - less) / 2;
  expect_solves(solver, between);
  // The permuted matrix was ordered: by another numbering not quite the same.
  EXPECT_LE(solver.memory().inside(), less + (more - less) / 4);
  const auto& tried = solver.orderings_tried();
  ASSERT_EQ(tried.size(), 2);
  EXPECT_EQ(tried[0].kind, OrderingKind::kAmd);
  EXPECT_FALSE(tried[0].taken);
  EXPECT_TRUE(tried[1].taken);
  EXPECT_GT(tried[0].least, between);
  EXPECT_LT(tried[1].least, tried[0].least);
  EXPECT_EQ(solver.analysis().seconds.ordering_taken, tried[1].kind);
}

TEST(SettleOrder, LeavesAloneWhatFitsAndWhatWasAskedFor) {
  Solver fits(plane(), ordered(OrderingKind::kAuto));
  ASSERT_TRUE(fits.plan(fits.least()));
  ASSERT_TRUE(fits.plan(std::nullopt));
  EXPECT_TRUE(fits.orderings_tried().empty());
  Solver asked(plane(), ordered(OrderingKind::kAmd));
  asked.settle_order();
  EXPECT_FALSE(asked.plan(asked.memory().needed() - 1));
  EXPECT_TRUE(asked.orderings_tried().empty());
  Solver little(make_grid({20, 20, 1}), ordered(OrderingKind::kAuto));
  little.settle_order();
  EXPECT_TRUE(little.orderings_tried().empty());
  SolverOptions options = ordered(OrderingKind::kAuto);
  options.schur = {3, 7};
  Solver schur(plane(), options);
  schur.settle_order();
  EXPECT_TRUE(schur.orderings_tried().empty());
}

// A path: AMD's factor has no fill, and no dissection's has less.
TEST(SettleOrder, GoesBackToTheFirstOrderWhereTheOtherNeedsMore) {
  Solver solver(make_grid({60'000, 1, 1}), ordered(OrderingKind::kAuto));
  const std::vector<std::int32_t> order = solver.analysis().symbolic.permutation;
  const SquareMatrix matrix = solver.analysis().permuted;
  const Bytes needs = solver.memory().inside();
  solver.settle_order();
  const auto& tried = solver.orderings_tried();
  ASSERT_EQ(tried.size(), 2);
  EXPECT_TRUE(tried[0].taken);
  EXPECT_GE(tried[1].least, tried[0].least);
  EXPECT_EQ(solver.analysis().symbolic.permutation, order);
  EXPECT_EQ(solver.analysis().permuted.lower.row, matrix.lower.row);
  EXPECT_EQ(solver.memory().inside(), needs);
  ASSERT_TRUE(solver.plan(std::nullopt));
  ASSERT_TRUE(solver.factorise());
  std::vector<double> x = solver.apply_to_ones();
  EXPECT_FALSE(solver.solve(x).doubts.any());
}

// The least is that of all orders that were tried, and it does.
TEST(SettleOrder, RefusesWithTheLeastOfBoth) {
  reset_peak_resident();
  Solver solver(plane(), ordered(OrderingKind::kAuto));
  const Bytes first = solver.least();
  const auto planned = solver.plan(first / 4);
  ASSERT_FALSE(planned);
  ASSERT_EQ(solver.orderings_tried().size(), 2);
  EXPECT_LE(planned.error().least_bytes, first);
  EXPECT_EQ(planned.error().least_bytes, solver.least());
  expect_solves(solver, planned.error().least_bytes);
}

// Five points a grid point, with a wind where it is to be unsymmetric, as entries
// (column, row); `copies` of it, each of which reads the one before at one point.
using Entries = std::map<std::pair<std::int32_t, std::int32_t>, double>;
Entries five_points(std::int32_t width, double diagonal, double wind, int copies = 1) {
  Entries a;
  const std::int32_t points = width * width;
  for (std::int32_t i = 0; i < copies * points; ++i) {
    const std::int32_t x = i % width, y = i % points / width;
    a[{i, i}] = diagonal + 0.01 * (i % 7);
    if (x > 0) a[{i - 1, i}] = -1 - wind;
    if (x + 1 < width) a[{i + 1, i}] = -1 + wind;
    if (y > 0) a[{i - width, i}] = -1 - wind;
    if (y + 1 < width) a[{i + width, i}] = -1 + wind;
    if (i >= points) a[{i - points, i}] = 0.5;
  }
  return a;
}

template <class Matrix>
Matrix matrix_of(std::int32_t size, const Entries& entries) {
  Matrix matrix;
  matrix.size = size;
  matrix.column_start.assign(static_cast<std::size_t>(size) + 1, 0);
  const bool half = std::is_same_v<Matrix, SymmetricMatrix>;
  for (const auto& [place, value] : entries) {
    if (half && place.second < place.first) continue;
    ++matrix.column_start[place.first + 1];
    matrix.row.push_back(place.second);
    matrix.value.push_back(value);
  }
  std::partial_sum(matrix.column_start.begin(), matrix.column_start.end(),
                   matrix.column_start.begin());
  return matrix;
}

// Unknowns on a plane and, for each of every fourth one, a multiplier: pairs of pivots.
SymmetricMatrix saddle_points(std::int32_t width) {
  Entries a = five_points(width, 4, 0);
  const std::int32_t points = width * width;
  for (std::int32_t k = 0; k < points / 4; ++k) {
    a[{4 * k, points + k}] = 1;
    a[{4 * k + 1, points + k}] = -1;
    a[{points + k, points + k}] = 0;
  }
  return matrix_of<SymmetricMatrix>(points + points / 4, a);
}

struct System {
  std::string name;
  std::function<InputMatrix()> make;
};
void PrintTo(const System& system, std::ostream* out) { *out << system.name; }

class OtherOrders : public testing::TestWithParam<System> {};

// Of every kind, again with other values, and transposed.
TEST_P(OtherOrders, SolveTheSystem) {
  InputMatrix twice = GetParam().make();
  std::visit(
      [](auto& a) {
        for (double& each : a.value) each *= 2;
      },
      twice);
  InputMatrix once = GetParam().make();  // what the test takes comes before the peak
  trim_heap();
  reset_peak_resident();
  Solver solver(std::move(once), {});
  const Bytes first = solver.memory().inside();
  solver.settle_order();
  ASSERT_EQ(solver.orderings_tried().size(), 2);
  EXPECT_LE(solver.memory().inside(), first);
  expect_solves(solver, solver.least_for_plan());
  solver.replace_values(twice);
  expect_solves(solver, solver.least_for_plan());
  std::vector<double> x = solver.apply_to_ones(Operation::kTransposed);
  EXPECT_FALSE(solver.solve(x, 1, Operation::kTransposed).doubts.any());
  EXPECT_TRUE(all_near_one(x, 1));
}

const System kSystems[] = {
    {"Definite", plane},
    {"Indefinite",
     [] {
       return matrix_of<SymmetricMatrix>(kWidth * kWidth, five_points(kWidth, 1.3, 0));
     }},
    {"Pairs", [] { return saddle_points(160); }},
    {"General",
     [] {
       return matrix_of<GeneralMatrix>(kWidth * kWidth, five_points(kWidth, 4, 0.3));
     }},
    {"BlockTriangular",
     [] { return matrix_of<GeneralMatrix>(3 * 120 * 120, five_points(120, 4, 0.3, 3)); }},
};
INSTANTIATE_TEST_SUITE_P(Of, OtherOrders, testing::ValuesIn(kSystems),
                         [](const auto& each) { return each.param.name; });

class OtherOrdersOfComplex : public testing::TestWithParam<ComplexSymmetry> {};
TEST_P(OtherOrdersOfComplex, SolveTheSystem) {
  const ComplexSymmetry symmetry = GetParam();
  const Entries entries =
      five_points(140, 5, symmetry == ComplexSymmetry::kGeneral ? 0.3 : 0);
  ComplexMatrix matrix;
  matrix.symmetry = symmetry;
  const auto fill = [&](const auto& real) {
    matrix.size = real.size;
    matrix.column_start = real.column_start;
    matrix.row = real.row;
    for (std::int32_t j = 0; j < real.size; ++j)
      for (auto k = real.column_start[j]; k < real.column_start[j + 1]; ++k)
        matrix.value.emplace_back(
            real.value[k],
            real.row[k] == j ? (symmetry == ComplexSymmetry::kHermitian ? 0 : 0.5) : 0.2);
  };
  if (symmetry == ComplexSymmetry::kGeneral)
    fill(matrix_of<GeneralMatrix>(140 * 140, entries));
  else
    fill(matrix_of<SymmetricMatrix>(140 * 140, entries));
  reset_peak_resident();
  Solver solver(std::move(matrix), SolverOptions{});
  solver.settle_order();
  ASSERT_EQ(solver.orderings_tried().size(), 2);
  expect_solves(solver, solver.least_for_plan());
}
INSTANTIATE_TEST_SUITE_P(Of, OtherOrdersOfComplex,
                         testing::Values(ComplexSymmetry::kGeneral,
                                         ComplexSymmetry::kSymmetric,
                                         ComplexSymmetry::kHermitian));

// Through C: the bound that C++ takes is taken there, too, and so is the least.
TEST(SettleOrder, IsDoneThroughC) {
  const SymmetricMatrix a = plane();
  const Bytes more = inside(OrderingKind::kAmd),
              less = inside(*other_ordering(OrderingKind::kAmd, a.size));
  const espalier_solver_matrix matrix{a.size, ESPALIER_SOLVER_SYMMETRIC,
                                      a.column_start.data(), a.row.data(),
                                      a.value.data()};
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  options.kind = ESPALIER_SOLVER_KIND_CHOLESKY;
  options.workers = 1;
  for (const bool asks : {false, true}) {
    reset_peak_resident();
    espalier_solver* solver = nullptr;
    ASSERT_EQ(espalier_solver_create(&solver, &matrix, &options), 0)
        << espalier_solver_last_error();
    const Bytes needed = resident_bytes() + more;
    std::int64_t least = 0;
    if (asks) {
      ASSERT_EQ(espalier_solver_least(solver, &least, nullptr), 0);
      EXPECT_LE(least, needed - (more - less) / 2 + ProcessAccount::kRunToRun);
    }
    ASSERT_EQ(espalier_solver_plan(solver, asks ? least : needed - (more - less) / 2), 0)
        << espalier_solver_last_error();
    ASSERT_EQ(espalier_solver_factorise(solver), 0);
    std::vector<double> x(static_cast<std::size_t>(a.size), 1.0);
    ASSERT_EQ(espalier_solver_solve(solver, 0, 1, x.data()), 0);
    espalier_solver_destroy(solver);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
