// Complex matrices through the C interface. The cases of one subject, which share their
// instances: over 300 lines.

#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>
#include <complex>
#include <cstring>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "espalier_solver.h"
#include "solver/support/c_interface.h"
#include "solver/support/temporary_file.h"

namespace TEST_SOURCE {

using Complex = std::complex<double>;
using espalier::solver::factored;
using espalier::solver::Handle;
using espalier::solver::TemporaryFile;
constexpr Complex kI(0, 1);

// A matrix of order 3 by triplets: all its entries or one triangle.
struct Given {
  std::vector<std::int32_t> rows, columns;
  std::vector<Complex> values;
  std::int32_t symmetry = ESPALIER_SOLVER_GENERAL;

  [[nodiscard]] espalier_solver_input input() const {
    espalier_solver_input input = ESPALIER_SOLVER_INPUT_INIT;
    input.order = 3;
    input.entries = std::ssize(rows);
    input.format = ESPALIER_SOLVER_TRIPLETS;
    input.symmetry = symmetry;
    input.rows = rows.data();
    input.columns = columns.data();
    input.values = reinterpret_cast<const double*>(values.data());
    input.scalar = ESPALIER_SOLVER_COMPLEX;
    return input;
  }
};

double* doubles(std::vector<Complex>& numbers) {
  return reinterpret_cast<double*>(numbers.data());
}

// The same matrix for every form: [2 1+i 0; a 3 -i; 0 b 4] with a, b by symmetry.
Given given(std::int32_t symmetry) {
  if (symmetry == ESPALIER_SOLVER_GENERAL)
    return {{0, 0, 1, 1, 1, 2, 2},
            {0, 1, 0, 1, 2, 1, 2},
            {2, 1.0 + kI, 5.0 * kI, 3, -kI, 1, 4},
            symmetry};
  // The upper triangle.
  return {{0, 0, 1, 1, 2}, {0, 1, 1, 2, 2}, {2, 1.0 + kI, 3, -kI, 4}, symmetry};
}

std::vector<std::vector<Complex>> dense(const Given& a) {
  std::vector<std::vector<Complex>> result(3, std::vector<Complex>(3));
  for (std::size_t k = 0; k < a.rows.size(); ++k) {
    result[a.rows[k]][a.columns[k]] = a.values[k];
    if (a.symmetry == ESPALIER_SOLVER_GENERAL) continue;
    result[a.columns[k]][a.rows[k]] =
        a.symmetry == ESPALIER_SOLVER_HERMITIAN ? std::conj(a.values[k]) : a.values[k];
  }
  return result;
}

// op(A) x for x = (1, i, -2).
const std::vector<Complex> kSolution = {1, kI, -2};
std::vector<Complex> product(const std::vector<std::vector<Complex>>& a, int operation) {
  std::vector<Complex> y(3);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      y[i] += (operation == 0   ? a[i][j]
               : operation == 1 ? a[j][i]
                                : std::conj(a[j][i])) *
              kSolution[j];
  return y;
}

void expect_solution(const std::vector<Complex>& x) {
  for (int i = 0; i < 3; ++i) EXPECT_LE(std::abs(x[i] - kSolution[i]), 1e-14) << i;
}

espalier_solver_statistics statistics(const Handle& solver) {
  espalier_solver_statistics facts{};
  facts.size = sizeof facts;
  EXPECT_EQ(espalier_solver_read_statistics(solver.get(), &facts), 0);
  return facts;
}

TEST(ComplexInC, SolvesEverySymmetryAndOperation) {
  const std::vector<std::int32_t> symmetries = {
      ESPALIER_SOLVER_GENERAL, ESPALIER_SOLVER_SYMMETRIC, ESPALIER_SOLVER_HERMITIAN};
  for (const std::int32_t symmetry : symmetries) {
    const Given a = given(symmetry);
    const Handle solver = factored(a.input());
    for (int operation = 0; operation < 3; ++operation) {
      std::vector<Complex> b = product(dense(a), operation);
      ASSERT_EQ(espalier_solver_solve(solver.get(), operation, 1, doubles(b)), 0);
      expect_solution(b);
    }
    const auto facts = statistics(solver);
    EXPECT_EQ(facts.scalar, ESPALIER_SOLVER_COMPLEX);
    EXPECT_EQ(facts.order, 3);
    EXPECT_EQ(facts.rank, 3);
    EXPECT_LE(facts.backward_error, 1e-15);
  }
}

// Lower triangles of {1 0} and {2 1}: what stands above the diagonal of the matrix is
// conjugated where it is Hermitian.
TEST(ComplexInC, AddsElements) {
  const std::vector<std::int32_t> starts = {0, 2, 4}, variables = {1, 0, 2, 1};
  const std::vector<Complex> values = {3, 1.0 + kI, 2, 4, -kI, 0};
  const std::vector<std::int32_t> symmetries = {ESPALIER_SOLVER_SYMMETRIC,
                                                ESPALIER_SOLVER_HERMITIAN};
  for (const std::int32_t symmetry : symmetries) {
    const Given a = given(symmetry);
    espalier_solver_input input = a.input();
    input.format = ESPALIER_SOLVER_ELEMENTS;
    input.entries = 2;
    input.starts = starts.data();
    input.rows = variables.data();
    input.columns = nullptr;
    input.values = reinterpret_cast<const double*>(values.data());
    const Handle solver = factored(input);
    std::vector<Complex> b = product(dense(a), 0);
    ASSERT_EQ(espalier_solver_solve(solver.get(), 0, 1, doubles(b)), 0);
    expect_solution(b);
    std::vector<Complex> twice = values;
    for (Complex& value : twice) value *= 2;
    ASSERT_EQ(espalier_solver_factorise_values(solver.get(), doubles(twice), 6), 0);
    b = product(dense(a), 0);
    for (Complex& value : b) value *= 2;
    ASSERT_EQ(espalier_solver_solve(solver.get(), 0, 1, doubles(b)), 0);
    expect_solution(b);
  }
}

// Compressed rows are factored as the transposed matrix.
TEST(ComplexInC, TakesRowsAndBlocksWithLeadingDimensions) {
  const Given a = given(ESPALIER_SOLVER_GENERAL);
  espalier_solver_input input = a.input();
  const std::vector<std::int32_t> starts = {0, 2, 5, 7};
  input.format = ESPALIER_SOLVER_ROWS;
  input.starts = starts.data();
  input.rows = nullptr;
  const Handle solver = factored(input);
  for (int operation = 0; operation < 3; ++operation) {
    const std::vector<Complex> one = product(dense(a), operation);
    std::vector<Complex> b(8, -7), x(10, -9);
    for (int i = 0; i < 3; ++i) b[i] = b[4 + i] = one[i];
    ASSERT_EQ(espalier_solver_solve_block(solver.get(), operation, 2, doubles(b), 4,
                                          doubles(x), 5),
              0);
    expect_solution({x[0], x[1], x[2]});
    expect_solution({x[5], x[6], x[7]});
    EXPECT_EQ(x[3], Complex(-9));
    EXPECT_EQ(b[3], Complex(-7));
  }
}

TEST(ComplexInC, FactorsOtherValuesAndFindsTheSymmetry) {
  Given a = given(ESPALIER_SOLVER_GENERAL);
  a.values[2] = 1.0 - kI;  // Hermitian now
  a.values[5] = kI;
  a.symmetry = ESPALIER_SOLVER_WHOLE;
  const Handle solver = factored(a.input());
  EXPECT_EQ(statistics(solver).kind, ESPALIER_SOLVER_KIND_CHOLESKY);
  for (Complex& value : a.values) value *= 2;
  ASSERT_EQ(espalier_solver_factorise_values(solver.get(), doubles(a.values), 7), 0)
      << espalier_solver_last_error();
  a.symmetry = ESPALIER_SOLVER_GENERAL;
  std::vector<Complex> b = product(dense(a), 0);
  ASSERT_EQ(espalier_solver_solve(solver.get(), 0, 1, doubles(b)), 0);
  expect_solution(b);
}

// Said to be general, it is so whatever the first values are; and so are real ones.
TEST(ComplexInC, TakesAnyValuesOfAGeneralMatrix) {
  const Given other = given(ESPALIER_SOLVER_GENERAL);
  Given hermitian = other, symmetric = other, real = other;
  hermitian.values = {2, 1.0 + kI, 1.0 - kI, 3, -kI, kI, 4};
  symmetric.values = {2, 1.0 + kI, 1.0 + kI, 3, -kI, -kI, 4};
  real.values = {2, 1, 1, 3, -1, -1, 4};
  for (const Given& first : {hermitian, symmetric, real}) {
    const Handle solver = factored(first.input());
    EXPECT_EQ(statistics(solver).kind, ESPALIER_SOLVER_KIND_LU);
    for (const Given& next : {other, first, other}) {
      std::vector<Complex> values = next.values;
      ASSERT_EQ(espalier_solver_factorise_values(solver.get(), doubles(values), 7), 0)
          << espalier_solver_last_error();
      std::vector<Complex> b = product(dense(next), 0);
      ASSERT_EQ(espalier_solver_solve(solver.get(), 0, 1, doubles(b)), 0);
      expect_solution(b);
    }
  }
}

TEST(ComplexInC, IsSavedAndLoaded) {
  const Given a = given(ESPALIER_SOLVER_SYMMETRIC);
  const TemporaryFile file(".factor");
  ASSERT_EQ(espalier_solver_save(factored(a.input()).get(), file.path().c_str()), 0);
  espalier_solver* loaded = nullptr;
  ASSERT_EQ(espalier_solver_load(&loaded, file.path().c_str(), nullptr), 0);
  const Handle solver(loaded);
  EXPECT_EQ(statistics(solver).scalar, ESPALIER_SOLVER_COMPLEX);
  std::vector<Complex> b = product(dense(a), 2);
  ASSERT_EQ(espalier_solver_solve(loaded, 2, 1, doubles(b)), 0);
  expect_solution(b);
  EXPECT_EQ(espalier_solver_plan(loaded, ESPALIER_SOLVER_MEMORY_LEAST), 0);
}

// By rows, every entry: the symmetry is found out, and the factors are of the matrix as
// it was given.
TEST(ComplexInC, SolvesWithPartsOfASymmetricMatrixByRows) {
  const std::vector<std::int32_t> symmetries = {ESPALIER_SOLVER_SYMMETRIC,
                                                ESPALIER_SOLVER_HERMITIAN};
  for (const std::int32_t symmetry : symmetries) {
    const auto whole = dense(given(symmetry));
    const std::vector<std::int32_t> starts = {0, 3, 6, 9},
                                    columns = {0, 1, 2, 0, 1, 2, 0, 1, 2};
    std::vector<Complex> values;
    for (const auto& row : whole) values.insert(values.end(), row.begin(), row.end());
    espalier_solver_input input = ESPALIER_SOLVER_INPUT_INIT;
    input.order = 3;
    input.format = ESPALIER_SOLVER_ROWS;
    input.symmetry = ESPALIER_SOLVER_WHOLE;
    input.starts = starts.data();
    input.columns = columns.data();
    input.values = doubles(values);
    input.scalar = ESPALIER_SOLVER_COMPLEX;
    const Handle solver = factored(input);
    const bool definite = statistics(solver).kind == ESPALIER_SOLVER_KIND_CHOLESKY;
    const int last = symmetry == ESPALIER_SOLVER_HERMITIAN ? 2 : 1;
    std::vector<Complex> b = product(whole, 0), x(3);
    const auto solve_part = [&](std::int32_t part, int operation) {
      ASSERT_EQ(espalier_solver_solve_part(solver.get(), part, operation, 1, doubles(b),
                                           3, doubles(x), 3),
                0)
          << espalier_solver_last_error();
      b = x;
    };
    solve_part(ESPALIER_SOLVER_PART_L, 0);
    if (!definite) solve_part(ESPALIER_SOLVER_PART_D, 0);
    solve_part(ESPALIER_SOLVER_PART_L, last);
    expect_solution(x);
  }
}

TEST(ComplexInC, TellsDeterminantOrderAndSchurComplement) {
  const Given a = given(ESPALIER_SOLVER_HERMITIAN);
  // 2 * (12 - 1) - |1 + i|^2 * 4 = 14
  const Handle solver = factored(a.input());
  double mantissa = 0, argument = 0;
  std::int64_t exponent = 0;
  ASSERT_EQ(espalier_solver_read_complex_determinant(solver.get(), &mantissa, &exponent,
                                                     &argument),
            0);
  EXPECT_NEAR(std::ldexp(mantissa, static_cast<int>(exponent)), 14, 1e-13);
  EXPECT_EQ(argument, 0);
  EXPECT_EQ(espalier_solver_read_determinant(solver.get(), &mantissa, &exponent),
            -EINVAL);
  std::vector<std::int32_t> order(4, -1);
  ASSERT_EQ(espalier_solver_read_order(solver.get(), order.data()), 0);
  EXPECT_EQ(order[3], -1);
  EXPECT_EQ(order[0] + order[1] + order[2], 3);

  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  const std::int32_t kept = 1;
  options.schur = &kept;
  options.schur_count = 1;
  const Handle part = factored(a.input(), &options);
  Complex block;
  ASSERT_EQ(espalier_solver_read_schur(part.get(), reinterpret_cast<double*>(&block), 1),
            0);
  EXPECT_LE(std::abs(block - (3.0 - 1.0 - 0.25)), 1e-14);  // 3 - |1 + i|^2 / 2 - 1 / 4
}

TEST(ComplexInC, RefusesByName) {
  const auto refused = [](const espalier_solver_input& input, const char* word) {
    espalier_solver* solver = nullptr;
    EXPECT_EQ(espalier_solver_analyse(&solver, &input, nullptr), -EINVAL);
    EXPECT_NE(std::strstr(espalier_solver_last_error(), word), nullptr)
        << espalier_solver_last_error();
  };
  Given a = given(ESPALIER_SOLVER_HERMITIAN);
  espalier_solver_input input = a.input();
  input.scalar = 2;
  refused(input, "input.scalar is 2");
  input.scalar = ESPALIER_SOLVER_REAL;
  refused(input, "Hermitian of a real matrix");
  a.values[0] = kI;
  refused(a.input(), "diagonal of a Hermitian matrix is real");
  a.values[0] = Complex(0, NAN);
  refused(a.input(), "values[0]");
  Given whole = given(ESPALIER_SOLVER_GENERAL);
  whole.symmetry = ESPALIER_SOLVER_WHOLE;
  refused(whole.input(), "neither that nor Hermitian");
  const Handle solver = factored(given(ESPALIER_SOLVER_GENERAL).input());
  std::vector<Complex> b(3);
  EXPECT_EQ(espalier_solver_solve(solver.get(), 3, 1, doubles(b)), -EINVAL);
  const espalier_solver_matrix real{};
  EXPECT_EQ(espalier_solver_refactorise(solver.get(), &real), -EINVAL);
  // A caller of the version before: its struct has no scalar.
  const std::vector<double> values(3, 2.0);
  Given diagonal{{0, 1, 2}, {0, 1, 2}, {}, ESPALIER_SOLVER_GENERAL};
  espalier_solver_input older = diagonal.input();
  older.values = values.data();
  older.size = 72;
  older.scalar = 77;
  EXPECT_EQ(statistics(factored(older)).scalar, ESPALIER_SOLVER_REAL);
}

}  // namespace TEST_SOURCE
