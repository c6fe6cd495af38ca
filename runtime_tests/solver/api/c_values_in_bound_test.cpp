// Other values inside a bound on the process: nothing of the matrix that was given is
// beside the fronts, whatever it came in.

#include <espalier_solver.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "solver/memory/process_memory.h"
#include "solver/support/c_interface.h"

namespace espalier::solver {
namespace TEST_SOURCE {

// A grid of seven points with other values on either side, or its lower triangle.
struct Grid {
  Grid(std::int32_t side, bool one_triangle, bool complex)
      : order(side * side * side), parts(complex ? 2 : 1), symmetric(one_triangle) {
    const std::int32_t step[] = {1, side, side * side};
    for (std::int32_t p = 0; p < order; ++p) {
      put(p, p, 6);
      for (int axis = 0; axis < 3; ++axis) {
        const bool first = p / step[axis] % side == 0;
        const bool last = p / step[axis] % side == side - 1;
        if (!first) put(p, p - step[axis], -1);
        if (!last && !symmetric) put(p, p + step[axis], -0.7);
      }
    }
    twice = values;
    for (double& value : twice) value *= 2;
  }
  void put(std::int32_t row, std::int32_t column, double value) {
    rows.push_back(row);
    columns.push_back(column);
    values.push_back(value);
    if (parts == 2) values.push_back(row == column ? 0.3 : 0);
  }
  [[nodiscard]] espalier_solver_input input() const {
    espalier_solver_input view = ESPALIER_SOLVER_INPUT_INIT;
    view.order = order;
    view.entries = static_cast<std::int64_t>(rows.size());
    view.format = ESPALIER_SOLVER_TRIPLETS;
    view.symmetry = symmetric ? ESPALIER_SOLVER_SYMMETRIC : ESPALIER_SOLVER_GENERAL;
    view.scalar = parts == 2 ? ESPALIER_SOLVER_COMPLEX : ESPALIER_SOLVER_REAL;
    view.rows = rows.data();
    view.columns = columns.data();
    view.values = values.data();
    return view;
  }

  std::int32_t order, parts;
  bool symmetric;
  std::vector<std::int32_t> rows, columns;
  std::vector<double> values, twice;
};

struct Case {
  const char* name;
  std::int32_t side;
  bool symmetric, complex, out_of_core;
};

class ValuesInBound : public testing::TestWithParam<Case> {};

TEST_P(ValuesInBound, LeaveTheProcessInsideIt) {
  const auto& [name, side, symmetric, complex, out_of_core] = GetParam();
  const Grid grid(side, symmetric, complex);
  std::vector<double> x(static_cast<std::size_t>(grid.order) * grid.parts, 1);
  const std::string directory = testing::TempDir();
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  options.workers = 2;
  if (out_of_core) options.out_of_core = directory.c_str();
  const espalier_solver_input input = grid.input();
  const Handle solver = analyse(input, &options);
  std::int64_t least = 0, least_out_of_core = 0;
  ASSERT_EQ(espalier_solver_least(solver.get(), &least, &least_out_of_core), 0);
  const std::int64_t bound = out_of_core ? least_out_of_core : least;
  ASSERT_EQ(espalier_solver_plan(solver.get(), bound), 0);
  ASSERT_EQ(espalier_solver_factorise(solver.get()), 0);
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(reset_peak_resident());
    const std::vector<double>& values = round % 2 == 0 ? grid.twice : grid.values;
    ASSERT_EQ(
        espalier_solver_factorise_values(solver.get(), values.data(),
                                         static_cast<std::int64_t>(grid.rows.size())),
        0)
        << espalier_solver_last_error();
    EXPECT_LE(peak_resident_bytes(), bound) << "round " << round;
    ASSERT_EQ(espalier_solver_solve(solver.get(), 0, 1, x.data()), 0);
    EXPECT_LE(peak_resident_bytes(), bound) << "solve of round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, ValuesInBound,
    testing::Values(Case{"ComplexGeneral", 22, false, true, false},
                    Case{"ComplexGeneralOutOfCore", 26, false, true, true},
                    Case{"ComplexSymmetric", 24, true, true, false},
                    Case{"General", 26, false, false, false},
                    Case{"GeneralOutOfCore", 26, false, false, true},
                    Case{"Symmetric", 30, true, false, false}),
    [](const auto& instance) { return std::string(instance.param.name); });

// A band of many entries and little fill, by the interface of compressed columns.
TEST(ValuesInBound, OfABandWithLittleFill) {
  constexpr std::int32_t kOrder = 150000, kWidth = 20;
  std::vector<std::int64_t> starts = {0};
  std::vector<std::int32_t> rows;
  std::vector<double> values;
  for (std::int32_t j = 0; j < kOrder; ++j) {
    for (std::int32_t k = 0; k <= kWidth && j + k < kOrder; ++k) {
      rows.push_back(j + k);
      values.push_back(k == 0 ? 3.0 * kWidth : -1.0 / (k + 1));
    }
    starts.push_back(static_cast<std::int64_t>(rows.size()));
  }
  std::vector<double> x(kOrder, 1);
  const espalier_solver_matrix matrix{kOrder, ESPALIER_SOLVER_SYMMETRIC, starts.data(),
                                      rows.data(), values.data()};
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  options.workers = 2;
  espalier_solver* made = nullptr;
  ASSERT_EQ(espalier_solver_create(&made, &matrix, &options), 0);
  const Handle solver(made);
  std::int64_t least = 0;
  ASSERT_EQ(espalier_solver_least(made, &least, nullptr), 0);
  ASSERT_EQ(espalier_solver_plan(made, least), 0);
  ASSERT_EQ(espalier_solver_factorise(made), 0);
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(reset_peak_resident());
    ASSERT_EQ(espalier_solver_refactorise(made, &matrix), 0);
    ASSERT_EQ(espalier_solver_solve(made, 0, 1, x.data()), 0);
    EXPECT_LE(peak_resident_bytes(), least) << "round " << round;
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
