// Analyses, factorisations and solves that their progress function ends, by returning or
// by throwing, end to end: on StarPU and without, out of core, in C++ and through the C
// interface.

#include <espalier_solver.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "solver/api/solver.h"
#include "solver/matrix/grid.h"
#include "solver/support/c_interface.h"
#include "support/temporary_directory.h"

namespace espalier::solver {
namespace TEST_SOURCE {

/// Not an exception of the standard library.
struct Enough {
  double done;
};

SymmetricMatrix cube(std::int32_t side) { return make_grid({side, side, side}); }

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
  EXPECT_EQ(last, 1);
  expect_solves(solver);
  // A factor that is complete is none, where the function ends the call even then.
  EXPECT_THROW((void)solver.factorise([](double done) {
    if (done == 1) throw Enough{done};
  }),
               Enough);
  EXPECT_THROW((void)solver.solve(b), InvalidInput);
}

const char* const kTexts[] = {"ended the call", "threw", "threw: mine"};

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

espalier_solver_options options_of(Where where, const std::string& directory) {
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  options.workers = 2;
  options.runtime = where == Where::kThread ? ESPALIER_SOLVER_RUNTIME_NONE
                                            : ESPALIER_SOLVER_RUNTIME_STARPU;
  if (where == Where::kOutOfCore) options.out_of_core = directory.c_str();
  return options;
}

// With a factor: neither solves nor entries of the inverse end otherwise.
void expect_solves_end(espalier_solver* solver, const std::vector<double>& x) {
  for (int kind = 0; kind < 3; ++kind) {
    Calls calls{kind};
    ASSERT_EQ(espalier_solver_set_progress(solver, stop, &calls), 0);
    std::vector<double> y(x.size(), 1);
    expect_error(espalier_solver_solve(solver, 0, 1, y.data()), ECANCELED, kTexts[kind]);
    const std::int32_t place = 5;
    double entry = 0;
    expect_error(espalier_solver_read_inverse(solver, 1, &place, &place, &entry),
                 ECANCELED, kTexts[kind]);
    EXPECT_EQ(calls.calls, 2);
  }
  ASSERT_EQ(espalier_solver_set_progress(solver, nullptr, nullptr), 0);
  std::vector<double> again(x.size(), 1);
  EXPECT_EQ(espalier_solver_solve(solver, 0, 1, again.data()), 0);
  EXPECT_EQ(again, x);
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
  const support::TemporaryDirectory directory;
  const espalier_solver_options options = options_of(GetParam(), directory.path());
  espalier_solver* solver = nullptr;
  ASSERT_EQ(espalier_solver_analyse(&solver, &input, &options), 0);
  const Handle handle(solver);
  const bool spills = GetParam() == Where::kOutOfCore;
  ASSERT_EQ(espalier_solver_plan(solver, spills ? 0 : INT64_MAX), 0);
  std::vector<double> x(static_cast<std::size_t>(a.size), 1);
  for (int kind = 0; kind < 3; ++kind) {
    Calls calls{kind};
    ASSERT_EQ(espalier_solver_set_progress(solver, stop, &calls), 0);
    expect_error(espalier_solver_factorise(solver), ECANCELED, kTexts[kind]);
    EXPECT_GT(calls.calls, 0);
    expect_error(
        espalier_solver_factorise_values(solver, a.value.data(), std::ssize(a.value)),
        ECANCELED, kTexts[kind]);
    expect_error(espalier_solver_solve(solver, 0, 1, x.data()), EINVAL, "factorise");
  }
  ASSERT_EQ(espalier_solver_set_progress(solver, nullptr, nullptr), 0);
  ASSERT_EQ(espalier_solver_factorise(solver), 0);
  EXPECT_EQ(espalier_solver_solve(solver, 0, 1, x.data()), 0);
  expect_solves_end(solver, x);
}

TEST_P(Cancel, OfAnAnalysisLeavesNoSolver) {
  const SymmetricMatrix a = cube(side());
  espalier_solver_matrix matrix{a.size, ESPALIER_SOLVER_SYMMETRIC, a.column_start.data(),
                                a.row.data(), a.value.data()};
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  options.ordering = ESPALIER_SOLVER_ORDERING_NESTED;
  options.workers = 2;
  options.progress = stop;
  for (int kind = 0; kind < 3; ++kind) {
    Calls calls{kind};
    options.progress_context = &calls;
    espalier_solver* solver = nullptr;
    expect_error(espalier_solver_create(&solver, &matrix, &options), ECANCELED,
                 kTexts[kind]);
    EXPECT_EQ(solver, nullptr);
    EXPECT_EQ(calls.calls, 1);
  }
}

// Wherever it comes to be.
TEST(CancelledAnalysis, ThrowsWhatTheInterruptThrowsAtAnyStep) {
  int calls = 0, last = 0;
  SolverOptions options;
  options.workers = 2;
  options.analysis.ordering = OrderingKind::kNested;
  options.analysis.interrupt = [&] {
    if (++calls == last) throw Enough{static_cast<double>(calls)};
  };
  const auto solver = [&] { return std::make_unique<Solver>(cube(22), options); };
  const auto first = solver();
  EXPECT_GT(calls, 10);  // between parts of the dissection, too
  const int all = 8;     // of every number of tasks that this thread may come to run
  for (last = 1; last <= all; ++last) {
    calls = 0;
    EXPECT_THROW((void)solver(), Enough) << last;
    EXPECT_EQ(calls, last);
  }
  calls = last = 0;
  EXPECT_EQ(solver()->analysis().symbolic.permutation,
            first->analysis().symbolic.permutation);
}

TEST(CancelledAnalysis, MayBeTheSecondOne) {
  bool enough = false;
  SolverOptions options;
  options.kind = FactorKind::kCholesky;
  options.analysis.interrupt = [&] {
    if (enough) throw Enough{0};
  };
  Solver solver(make_grid({200, 200, 1}), options);
  enough = true;
  EXPECT_THROW(solver.settle_order(), Enough);
  EXPECT_TRUE(solver.orderings_tried().empty());
  enough = false;
  solver.settle_order();
  EXPECT_EQ(solver.orderings_tried().size(), 2);
  ASSERT_TRUE(solver.plan(solver.least()));
  ASSERT_TRUE(solver.factorise());
  expect_solves(solver);
}

TEST(CancelledSolve, ThrowsWhatItsProgressThrowsAtAnyPass) {
  SolverOptions options;
  options.workers = 2;
  options.runtime_flops = 0;
  options.estimate_errors = true;
  Solver solver(cube(22), options);
  ASSERT_TRUE(solver.plan(std::nullopt));
  ASSERT_TRUE(solver.factorise());
  constexpr std::int32_t kVectors = 34;  // in several blocks
  const std::vector<double> b(std::size_t{22} * 22 * 22 * kVectors, 1);
  std::vector<double> told, expected = b;
  (void)solver.solve(expected, kVectors, Operation::kPlain, {},
                     [&](double done) { told.push_back(done); });
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_EQ(told.front(), 0);
  EXPECT_GT(told.back(), 0.5);
  EXPECT_LT(told.back(), 1);
  // While others work it asks by time, and how often that is differs from run to run.
  const auto expect_ended = [&](const std::function<bool(std::size_t, double)>& ends) {
    std::vector<double> x = b;
    std::size_t calls = 0, after = 0;
    EXPECT_THROW((void)solver.solve(x, kVectors, Operation::kPlain, {},
                                    [&](double done) {
                                      ++(after > 0 ? after : calls);
                                      if (!ends(calls, done)) return;
                                      after = 1;
                                      throw Enough{done};
                                    }),
                 Enough);
    EXPECT_EQ(after, 1U);
  };
  expect_ended([](std::size_t call, double) { return call == 1; });
  expect_ended([](std::size_t call, double) { return call == 3; });
  expect_ended([&](std::size_t, double done) { return done == told.back(); });
  std::vector<double> x = b;
  (void)solver.solve(x, kVectors);
  EXPECT_EQ(x, expected);
}

const char* name_of(Where where) {
  if (where == Where::kThread) return "InTheCallersThread";
  return where == Where::kStarpu ? "OnStarPU" : "OutOfCore";
}

INSTANTIATE_TEST_SUITE_P(
    Ways, Cancel, testing::Values(Where::kThread, Where::kStarpu, Where::kOutOfCore),
    [](const auto& each) { return std::string(name_of(each.param)); });

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
