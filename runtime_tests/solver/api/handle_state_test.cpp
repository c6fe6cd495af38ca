// What a handle of the C interface knows and does after others of its calls.

#include <espalier_solver.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "solver/memory/process_memory.h"
#include "solver/support/c_interface.h"
#include "solver/support/temporary_file.h"

namespace espalier::solver {
namespace TEST_SOURCE {

/// Triplets from 0 on.
struct Triplets {
  std::int32_t order, symmetry;
  std::vector<std::int32_t> rows, columns;
  std::vector<double> values;
  [[nodiscard]] espalier_solver_input input() const {
    return triplets(order, symmetry, rows, columns, values);
  }
};

// (1 2 . .; 2 4 . .; . . -3 .; . . . -5)
TEST(HandleState, ALoadedFactorTellsWhatItsPivotsWere) {
  const Triplets matrix{
      4, ESPALIER_SOLVER_SYMMETRIC, {0, 1, 1, 2, 3}, {0, 0, 1, 2, 3}, {1, 2, 4, -3, -5}};
  const TemporaryFile file("", ".factor");
  const Handle made = factored(matrix.input());
  ASSERT_EQ(espalier_solver_save(made.get(), file.path().c_str()), 0);
  espalier_solver* raw = nullptr;
  ASSERT_EQ(espalier_solver_load(&raw, file.path().c_str(), nullptr), 0);
  const Handle loaded(raw);
  const espalier_solver_statistics first = statistics_of(made),
                                   second = statistics_of(loaded);
  EXPECT_EQ(first.null_space, 1);
  EXPECT_EQ(first.negative_pivots, 2);
  EXPECT_EQ(second.null_space, first.null_space);
  EXPECT_EQ(second.negative_pivots, first.negative_pivots);
  EXPECT_EQ(second.two_by_two_pivots, first.two_by_two_pivots);
  EXPECT_EQ(second.delayed_pivots, first.delayed_pivots);
  EXPECT_EQ(second.rank, first.rank);
}

// A Hessian that is zero when it is analysed, as in the first step of an interior-point
// method, and is not later: (h . 1; . h 1; 1 1 .), and a diagonal of order 2 as L U.
TEST(HandleState, OtherValuesMayMakeAMatrixRegular) {
  const Triplets saddle{
      3, ESPALIER_SOLVER_SYMMETRIC, {0, 1, 2, 2}, {0, 1, 0, 1}, {0, 0, 1, 1}},
      diagonal{2, ESPALIER_SOLVER_GENERAL, {0, 1}, {0, 1}, {0, 3}};
  for (const Triplets& matrix : {saddle, diagonal}) {
    for (const std::int32_t scaling :
         {ESPALIER_SOLVER_SCALING_AUTO, ESPALIER_SOLVER_SCALING_NONE}) {
      espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
      options.scaling = scaling;
      const Handle solver = factored(matrix.input(), &options);
      EXPECT_EQ(statistics_of(solver).singular, 1);
      EXPECT_EQ(statistics_of(solver).structural_rank, matrix.order - 1);
      std::vector<double> values = matrix.values, x(matrix.order, 1);
      values[0] = values[1] = 2;
      ASSERT_EQ(espalier_solver_factorise_values(solver.get(), values.data(),
                                                 std::ssize(values)),
                0);
      ASSERT_EQ(espalier_solver_solve(solver.get(), 0, 1, x.data()), 0);
      EXPECT_EQ(statistics_of(solver).singular, 0);
      EXPECT_EQ(statistics_of(solver).rank, matrix.order);
      EXPECT_EQ(statistics_of(solver).structural_rank, matrix.order);
      EXPECT_EQ(statistics_of(solver).doubts, 0);
      double mantissa = 0;
      std::int64_t exponent = 0;
      ASSERT_EQ(espalier_solver_read_determinant(solver.get(), &mantissa, &exponent), 0);
      EXPECT_NEAR(std::ldexp(mantissa, static_cast<int>(exponent)),
                  matrix.order == 3 ? -4 : 4, 1e-14);
      ASSERT_EQ(espalier_solver_factorise_values(solver.get(), matrix.values.data(),
                                                 std::ssize(values)),
                0);
      EXPECT_EQ(statistics_of(solver).singular, 1);
    }
  }
}

// A pattern that has no entry in a row stays singular whatever the values are.
TEST(HandleState, APatternWithoutARowStaysSingular) {
  const Triplets matrix{2, ESPALIER_SOLVER_GENERAL, {0, 0}, {0, 1}, {0, 3}};
  const Handle solver = factored(matrix.input());
  const std::vector<double> values = {1, 3};
  ASSERT_EQ(espalier_solver_factorise_values(solver.get(), values.data(), 2), 0);
  EXPECT_EQ(statistics_of(solver).singular, 1);
  EXPECT_EQ(statistics_of(solver).structural_rank, 1);
}

// Many vectors with gaps between them have no room beside a factor.
TEST(HandleState, VectorsWithGapsKeepTheBound) {
  constexpr std::int32_t kSide = 20, kOrder = kSide * kSide * kSide, kVectors = 150;
  Triplets matrix{kOrder, ESPALIER_SOLVER_SYMMETRIC, {}, {}, {}};
  const auto put = [&](std::int32_t row, std::int32_t column, double value) {
    matrix.rows.push_back(row);
    matrix.columns.push_back(column);
    matrix.values.push_back(value);
  };
  for (std::int32_t p = 0; p < kOrder; ++p) {
    put(p, p, 6.1);
    for (const std::int32_t step : {1, kSide, kSide * kSide})
      if (p / step % kSide > 0) put(p, p - step, -1);
  }
  const std::int64_t leading = kOrder + 1;
  std::vector<double> b(leading * kVectors, 1), x(leading * kVectors, 5);
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  options.workers = 1;
  const Handle solver = analyse(matrix.input(), &options);
  std::int64_t least = 0;
  ASSERT_EQ(espalier_solver_least(solver.get(), &least, nullptr), 0);
  ASSERT_EQ(espalier_solver_plan(solver.get(), least), 0);
  ASSERT_EQ(espalier_solver_factorise(solver.get()), 0);
  ASSERT_TRUE(reset_peak_resident());
  ASSERT_EQ(espalier_solver_solve_block(solver.get(), 0, kVectors, b.data(), leading,
                                        x.data(), leading),
            0);
  EXPECT_LE(peak_resident_bytes(), least);
  EXPECT_LT(statistics_of(solver).backward_error, 1e-14);
  for (std::int32_t k = 0; k < kVectors; ++k) {
    EXPECT_EQ(x[k * leading + kOrder], 5);
    EXPECT_EQ(x[k * leading + 7], x[7]);
  }
}

// Of (2 1; 1 3), or twice as large and unsymmetric, scaled: b from 2^-1070 to 2^1020.
TEST(HandleState, RightHandSidesMayBeAnywhereInTheRange) {
  for (const int of_matrix : {0, 300, -300}) {
    Triplets matrix{2, ESPALIER_SOLVER_GENERAL, {0, 0, 1, 1}, {0, 1, 0, 1}, {2, 1, 1, 3}};
    for (double& value : matrix.values) value = std::ldexp(value, of_matrix);
    const Handle solver = factored(matrix.input());
    for (int exponent = -1070; exponent <= 1020; exponent += 5) {
      std::vector<double> x = {std::ldexp(4.0, exponent), std::ldexp(7.0, exponent)};
      ASSERT_EQ(espalier_solver_solve(solver.get(), 0, 1, x.data()), 0);
      const bool lost = exponent - of_matrix<-1022, beyond = exponent - of_matrix> 1020;
      if (!lost && !beyond) {
        EXPECT_EQ(statistics_of(solver).doubts, 0) << exponent;
        EXPECT_NEAR(std::ldexp(x[0], of_matrix - exponent), 1, 1e-14);
        EXPECT_NEAR(std::ldexp(x[1], of_matrix - exponent), 2, 1e-14);
      } else if (beyond || exponent - of_matrix < -1080) {
        EXPECT_NE(statistics_of(solver).doubts & ESPALIER_SOLVER_DOUBT_BACKWARD_ERROR, 0)
            << exponent;
      }
    }
  }
}

// (. a .; b . .; . . .): the scale of what is matched with nothing means nothing.
TEST(HandleState, NullVectorsHoldInTheScalingThatWasGiven) {
  for (const int exponent : {-200, -80, 0, 80, 200}) {
    const Triplets matrix{3,
                          ESPALIER_SOLVER_GENERAL,
                          {0, 1},
                          {1, 0},
                          {std::ldexp(4.0, exponent), std::ldexp(-2.0, 60 - exponent)}};
    const Handle solver = factored(matrix.input());
    ASSERT_EQ(statistics_of(solver).null_space, 1);
    for (const std::int32_t transposed : {0, 1}) {
      std::vector<double> vector(3);
      ASSERT_EQ(
          espalier_solver_read_null_space(solver.get(), transposed, vector.data(), 3), 0)
          << espalier_solver_last_error();
      EXPECT_NEAR(std::abs(vector[2]), 1, 1e-12) << exponent;
      EXPECT_LT(std::abs(vector[0]) + std::abs(vector[1]), 1e-7) << exponent;
    }
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
