// What the C++ interface refuses, as the C interface does.

#include <gtest/gtest.h>
#include <starpu.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include "espalier/solver/solver.h"
#include "solver/matrix/check_matrix.h"
#include "solver/matrix/grid.h"
#include "solver/runtime/runtime.h"

namespace espalier::solver {
namespace TEST_SOURCE {

// 2 on the diagonal, -1 beside it.
GeneralMatrix tridiagonal() {
  return {.size = 3,
          .column_start = {0, 2, 5, 7},
          .row = {0, 1, 0, 1, 2, 1, 2},
          .value = {2, -1, -1, 2, -1, -1, 2}};
}

SolverOptions on_workers(std::int32_t workers) {
  SolverOptions options;
  options.workers = workers;
  options.runtime_flops = 0;
  return options;
}

struct Fault {
  const char* what;
  std::function<void(GeneralMatrix&)> make;
};

const Fault kFaults[] = {
    {"order -1", [](GeneralMatrix& m) { m.size = -1; }},
    {"4 offsets", [](GeneralMatrix& m) { m.size = 4; }},
    {"0 offsets", [](GeneralMatrix& m) { m.column_start.clear(); }},
    {"column_start[0] is 1", [](GeneralMatrix& m) { m.column_start[0] = 1; }},
    {"from 2 to 1", [](GeneralMatrix& m) { m.column_start[2] = 1; }},
    {"from 2 to 1000", [](GeneralMatrix& m) { m.column_start[2] = 1000; }},
    {"7 rows and 6 values", [](GeneralMatrix& m) { m.value.pop_back(); }},
    {"6 rows and 7 values", [](GeneralMatrix& m) { m.row.pop_back(); }},
    {"row 3 is not in 0", [](GeneralMatrix& m) { m.row[6] = 3; }},
    {"row -1 is not in 0", [](GeneralMatrix& m) { m.row[0] = -1; }},
    {"row 0 comes after row 1", [](GeneralMatrix& m) { std::swap(m.row[2], m.row[3]); }},
    {"row 1 comes after row 1", [](GeneralMatrix& m) { m.row[0] = 1; }},
    {"is nan", [](GeneralMatrix& m) { m.value[3] = std::nan(""); }},
    {"is inf", [](GeneralMatrix& m) { m.value[3] = HUGE_VAL; }},
};

template <class Call>
void expect_refused(Call call, const std::string& says) {
  try {
    call();
    ADD_FAILURE() << "not refused: " << says;
  } catch (const InvalidInput& error) {
    EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
  }
}

TEST(SolverChecks, RefuseComplexMatricesToo) {
  const ComplexMatrix hermitian = {
      ComplexSymmetry::kHermitian, 2, {0, 2, 3}, {0, 1, 1}, {{2, 0}, {0, 1}, {3, 0}}};
  ComplexMatrix beyond = hermitian, other = hermitian, not_real = hermitian;
  beyond.row[1] = 5;
  other.symmetry = ComplexSymmetry::kSymmetric;
  not_real.value[0] = {2, 1};
  expect_refused([&] { Solver(ComplexMatrix(beyond), {}); }, "row 5 is not in 0");
  expect_refused([&] { Solver(ComplexMatrix(not_real), {}); }, "(0, 0)");
  Solver solver(ComplexMatrix(hermitian), {});
  expect_refused([&] { solver.replace_values(ComplexMatrix(beyond)); },
                 "row 5 is not in 0");
  expect_refused([&] { solver.replace_values(ComplexMatrix(other)); },
                 "a Hermitian matrix was expected: it is complex symmetric");
  Solver real(SymmetricMatrix{1, {0, 1}, {0}, {2}}, {});
  expect_refused([&] { real.replace_values(ComplexMatrix(hermitian)); },
                 "in the place of a real one");
  ASSERT_TRUE(solver.plan(std::nullopt));
  EXPECT_TRUE(solver.factorise()) << "the values are those that there were";
}

TEST(SolverChecks, RefuseMatricesThatCannotBe) {
  for (const Fault& fault : kFaults) {
    GeneralMatrix matrix = tridiagonal();
    fault.make(matrix);
    expect_refused([&] { Solver job(std::move(matrix), on_workers(1)); }, fault.what);
  }
  EXPECT_EQ(starpu_is_initialized(), 0);
  SymmetricMatrix above{
      .size = 2, .column_start = {0, 1, 2}, .row = {0, 0}, .value = {1, 1}};
  expect_refused([&] { Solver job(std::move(above), on_workers(1)); },
                 "row 0 is not in 1");
}

TEST(SolverChecks, RefuseOptionsThatCannotBe) {
  for (const double threshold : {0.0, -1.0, 1.5, std::nan("")}) {
    SolverOptions options = on_workers(1);
    options.pivot_threshold = threshold;
    expect_refused([&] { Solver job(tridiagonal(), options); }, "pivot_threshold");
  }
  SolverOptions options = on_workers(1);
  options.delay_reserve = -1;
  expect_refused([&] { Solver job(tridiagonal(), options); }, "delay_reserve");
  expect_refused([&] { Solver job(tridiagonal(), on_workers(0)); }, "workers is 0");
}

TEST(SolverChecks, RefuseCallsOutOfTurnAndVectorsThatCannotBe) {
  Solver job(tridiagonal(), on_workers(1));
  std::vector<double> b = {1, 0, 1};
  const auto solve = [&](std::int32_t nrhs, std::span<const std::int64_t> rows = {}) {
    return [&job, &b, nrhs, rows] { (void)job.solve(b, nrhs, Operation::kPlain, rows); };
  };
  expect_refused([&] { (void)job.factorise(); }, "plan first");
  expect_refused(solve(1), "factorise first");
  expect_refused([&] { job.save("/nowhere/file"); }, "factorise first");
  ASSERT_TRUE(job.plan(std::nullopt));
  expect_refused(solve(1), "factorise first");
  ASSERT_TRUE(job.factorise());
  expect_refused(solve(2), "3 entries for 2 right-hand sides of order 3");
  expect_refused(solve(-1), "nrhs is -1");
  expect_refused(solve(std::numeric_limits<std::int32_t>::max()), "3 entries for");
  const std::int64_t outside[] = {0, 3}, both[] = {1, 0};
  const std::span<const std::int64_t> falling = both;
  expect_refused(solve(1, outside), "row 3 of the right-hand side");
  expect_refused(solve(1, falling), "row 0 of the right-hand side comes after row 1");
  expect_refused(solve(1, falling.subspan(1)), "has 1 in row 2, from 0, which is not");
  b[1] = std::nan("");
  expect_refused(solve(1), "entry 1 of the right-hand sides is nan");
  b[1] = 0;
  solve(1)();
  for (const double x : b) EXPECT_NEAR(x, 1, 1e-14);
}

TEST(SolverChecks, GiveTheFactorUpWhenValuesDoNotFit) {
  Solver job(tridiagonal(), on_workers(1));
  ASSERT_TRUE(job.plan(std::nullopt));
  ASSERT_TRUE(job.factorise());
  for (const Fault& fault : kFaults) {
    GeneralMatrix matrix = tridiagonal();
    fault.make(matrix);
    expect_refused([&] { job.replace_values(matrix); }, fault.what);
  }
  GeneralMatrix other = tridiagonal();
  other.row[1] = 2;  // (2, 0) is outside the pattern
  EXPECT_THROW(job.replace_values(other), InvalidInput);
  std::vector<double> b = {1, 0, 1};
  expect_refused([&] { (void)job.solve(b); }, "factorise first");
  expect_refused([&] { (void)job.factorise(); }, "did not fit");
  job.replace_values(tridiagonal());
  ASSERT_TRUE(job.factorise());
  (void)job.solve(b);
  EXPECT_NEAR(b[0], 1, 1e-14);
}

TEST(SolverChecks, LetSolversOfTheSameWorkersShareTheRuntime) {
  Solver first(tridiagonal(), on_workers(2));
  auto second = std::make_unique<Solver>(make_grid(parse_grid("8x8x8")), on_workers(2));
  EXPECT_THROW(Solver(tridiagonal(), on_workers(1)), Busy);
  ASSERT_TRUE(second->plan(second->least()));
  ASSERT_TRUE(second->factorise());
  ASSERT_TRUE(first.plan(std::nullopt));
  ASSERT_TRUE(first.factorise());
  std::vector<double> b = second->apply_to_ones();
  EXPECT_LT(second->solve(b).refinement.backward_error, 1e-15);
  second.reset();
  EXPECT_EQ(starpu_is_initialized(), 1);
  std::vector<double> c = {1, 0, 1};
  (void)first.solve(c);
  EXPECT_NEAR(c[1], 1, 1e-14);
}

TEST(SolverChecks, SayThatTheProgramRunsStarPuItself) {
  ASSERT_EQ(starpu_init(nullptr), 0);
  EXPECT_THROW(Solver(tridiagonal(), on_workers(1)), Busy);
  starpu_shutdown();
  const Solver job(tridiagonal(), on_workers(1));
}

// The tasks that run then refer to the factorisation.
TEST(SolverChecks, ThrowWhatProgressThrowsWhenNoTaskRunsAnyMore) {
  Solver job(make_grid(parse_grid("25x25x25")), on_workers(2));
  ASSERT_TRUE(job.plan(std::nullopt));
  int calls = 0;
  EXPECT_THROW((void)job.factorise([&](double) {
    ++calls;
    throw std::runtime_error("enough");
  }),
               std::runtime_error);
  EXPECT_GE(calls, 1);
  std::vector<double> b = job.apply_to_ones();
  expect_refused([&] { (void)job.solve(b); }, "factorise first");
  ASSERT_TRUE(job.factorise());
  EXPECT_LT(job.solve(b).refinement.backward_error, 1e-15);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
