// A factorisation that its progress function ends, by returning or by throwing, end to
// end: on StarPU and without, out of core, in C++ and through the C interface.

#include <espalier_solver.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "solver/api/solver.h"
#include "solver/support/c_interface.h"
#include "support/temporary_directory.h"

namespace espalier::solver {
namespace {

/// Not an exception of the standard library.
struct Enough {
  double done;
};

/// The 7-point operator on side^3 points, its lower triangle.
SymmetricMatrix cube(std::int32_t side) {
  SymmetricMatrix a{
      .size = side * side * side, .column_start = {0}, .row = {}, .value = {}};
  const auto add = [&](std::int32_t row, double value) {
    a.row.push_back(row);
    a.value.push_back(value);
  };
  for (std::int32_t j = 0; j < a.size; ++j) {
    add(j, 6.5);
    if (j % side + 1 < side) add(j + 1, -1);
    if (j / side % side + 1 < side) add(j + side, -1);
    if (j / side / side + 1 < side) add(j + side * side, -1);
    a.column_start.push_back(std::ssize(a.row));
  }
  return a;
}

void expect_solves(Solver& solver) {
  std::vector<double> b = solver.apply_to_ones();
  (void)solver.solve(b);
  for (const double each : b) EXPECT_NEAR(each, 1, 1e-10);
}

enum class Where { kThread, kStarpu, kOutOfCore };

class Cancel : public testing::TestWithParam<Where> {
 protected:
  [[nodiscard]] static std::int32_t side() {
    return GetParam() == Where::kThread ? 8 : 22;
  }
};

TEST_P(Cancel, IsWhatTheFunctionThrowsInCxx) {
  const support::TemporaryDirectory directory;
  SolverOptions options;
  options.workers = 2;
  options.runtime_flops = GetParam() == Where::kThread ? 1e18 : 0;
  if (GetParam() == Where::kOutOfCore) options.out_of_core = directory.path();
  Solver solver(cube(side()), options);
  const Bytes bound =
      GetParam() == Where::kOutOfCore ? solver.least_out_of_core() : solver.least();
  ASSERT_TRUE(solver.plan(bound + (Bytes{1} << 20)));
  EXPECT_THROW((void)solver.factorise([](double done) { throw Enough{done}; }), Enough);
  EXPECT_THROW((void)solver.factorise([](double) { throw std::runtime_error("mine"); }),
               std::runtime_error);
  std::vector<double> b(static_cast<std::size_t>(side() * side() * side()), 1);
  EXPECT_THROW((void)solver.solve(b), InvalidInput);  // there is no factor
  double last = 0;
  ASSERT_TRUE(solver.factorise([&last](double done) { last = done; }));
  EXPECT_GT(last, 0);
  expect_solves(solver);
}

struct Calls {
  int kind, calls = 0;
};

// A function of the C interface that is one of C++.
int stop(void* context, double /*done*/) {
  auto& calls = *static_cast<Calls*>(context);
  ++calls.calls;
  if (calls.kind == 1) throw Enough{};
  if (calls.kind == 2) throw std::runtime_error("mine");
  return 1;
}

TEST_P(Cancel, GoesNoFurtherThanTheCInterface) {
  const SymmetricMatrix a = cube(side());
  espalier_solver_input input = ESPALIER_SOLVER_INPUT_INIT;
  input.order = a.size;
  input.index_bits = 32;
  input.symmetry = ESPALIER_SOLVER_SYMMETRIC;
  const std::vector<std::int32_t> start(a.column_start.begin(), a.column_start.end());
  input.starts = start.data();
  input.rows = a.row.data();
  input.values = a.value.data();
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  options.workers = 2;
  options.runtime = GetParam() == Where::kThread ? ESPALIER_SOLVER_RUNTIME_NONE
                                                 : ESPALIER_SOLVER_RUNTIME_STARPU;
  const support::TemporaryDirectory directory;
  const bool spills = GetParam() == Where::kOutOfCore;
  if (spills) options.out_of_core = directory.path().c_str();
  espalier_solver* solver = nullptr;
  ASSERT_EQ(espalier_solver_analyse(&solver, &input, &options), 0);
  const Handle handle(solver);
  ASSERT_EQ(espalier_solver_plan(solver, spills ? 0 : INT64_MAX), 0);
  const char* const texts[] = {"ended the factorisation", "threw", "threw: mine"};
  std::vector<double> x(static_cast<std::size_t>(a.size), 1);
  for (int kind = 0; kind < 3; ++kind) {
    Calls calls{kind};
    ASSERT_EQ(espalier_solver_set_progress(solver, stop, &calls), 0);
    expect_error(espalier_solver_factorise(solver), ECANCELED, texts[kind]);
    EXPECT_GT(calls.calls, 0);
    expect_error(
        espalier_solver_factorise_values(solver, a.value.data(), std::ssize(a.value)),
        ECANCELED, texts[kind]);
    expect_error(espalier_solver_solve(solver, 0, 1, x.data()), EINVAL, "factorise");
  }
  ASSERT_EQ(espalier_solver_set_progress(solver, nullptr, nullptr), 0);
  ASSERT_EQ(espalier_solver_factorise(solver), 0);
  EXPECT_EQ(espalier_solver_solve(solver, 0, 1, x.data()), 0);
}

const char* name_of(Where where) {
  if (where == Where::kThread) return "InTheCallersThread";
  return where == Where::kStarpu ? "OnStarPU" : "OutOfCore";
}

INSTANTIATE_TEST_SUITE_P(
    Ways, Cancel, testing::Values(Where::kThread, Where::kStarpu, Where::kOutOfCore),
    [](const auto& each) { return std::string(name_of(each.param)); });

}  // namespace
}  // namespace espalier::solver
