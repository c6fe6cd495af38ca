// The C interface: solvers that share a budget, or the StarPU of the program.

#include <espalier_solver.h>
#include <gtest/gtest.h>
#include <starpu.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "solver/matrix/grid.h"
#include "solver/memory/process_memory.h"

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr Bytes kMiB = Bytes{1} << 20;

struct DestroySolver {
  void operator()(espalier_solver* solver) const { espalier_solver_destroy(solver); }
};
using Handle = std::unique_ptr<espalier_solver, DestroySolver>;
struct DestroyBudget {
  void operator()(espalier_solver_budget* budget) const {
    espalier_solver_budget_destroy(budget);
  }
};
using BudgetHandle = std::unique_ptr<espalier_solver_budget, DestroyBudget>;

class Grid {
 public:
  explicit Grid(const char* shape) : grid_(make_grid(parse_grid(shape))) {}
  [[nodiscard]] espalier_solver_matrix view() const {
    return {grid_.size, ESPALIER_SOLVER_SYMMETRIC, grid_.column_start.data(),
            grid_.row.data(), grid_.value.data()};
  }
  int create(Handle& handle, const espalier_solver_options& options) const {
    const espalier_solver_matrix matrix = view();
    espalier_solver* solver = nullptr;
    const int status = espalier_solver_create(&solver, &matrix, &options);
    handle.reset(solver);
    return status;
  }
  // Of A x = A 1.
  void expect_solves(espalier_solver* solver) const {
    std::vector<double> b(static_cast<std::size_t>(grid_.size), 0.0);
    for (std::int32_t j = 0; j < grid_.size; ++j)
      for (auto k = grid_.column_start[j]; k < grid_.column_start[j + 1]; ++k) {
        b[grid_.row[k]] += grid_.value[k];
        if (grid_.row[k] != j) b[j] += grid_.value[k];
      }
    ASSERT_EQ(espalier_solver_solve(solver, 0, 1, b.data()), 0)
        << espalier_solver_last_error();
    for (const double x : b) ASSERT_NEAR(x, 1, 1e-9);
  }

 private:
  SymmetricMatrix grid_;
};

espalier_solver_options on_starpu() {
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  options.workers = 2;
  options.runtime = ESPALIER_SOLVER_RUNTIME_STARPU;
  return options;
}

BudgetHandle make_budget(std::int64_t bytes) {
  espalier_solver_budget* budget = nullptr;
  EXPECT_EQ(espalier_solver_budget_create(&budget, bytes), 0)
      << espalier_solver_last_error();
  return BudgetHandle(budget);
}

std::int64_t leased(const espalier_solver_budget* budget) {
  std::int64_t bytes = 0, result = 0, left = 0;
  EXPECT_EQ(espalier_solver_budget_read(budget, &bytes, &result, &left), 0);
  EXPECT_LE(result + left, bytes);
  return result;
}

TEST(SolverCInterface, SolversShareABudget) {
  keep_heap_small();
  const Grid large("18x18x18"), small("9x9x9");
  BudgetHandle budget = make_budget(resident_bytes() + 400 * kMiB);
  espalier_solver_options options = on_starpu();
  options.budget = budget.get();
  Handle first, second;
  ASSERT_EQ(large.create(first, options), 0) << espalier_solver_last_error();
  ASSERT_EQ(small.create(second, options), 0) << espalier_solver_last_error();
  EXPECT_EQ(leased(budget.get()), 0);
  ASSERT_EQ(espalier_solver_plan(first.get(), ESPALIER_SOLVER_MEMORY_LEAST), 0);
  const std::int64_t of_one = leased(budget.get());
  EXPECT_GT(of_one, kMiB);
  ASSERT_EQ(espalier_solver_plan(second.get(), INT64_MAX), 0);
  EXPECT_GT(leased(budget.get()), of_one);
  for (espalier_solver* solver : {first.get(), second.get()})
    ASSERT_EQ(espalier_solver_factorise(solver), 0) << espalier_solver_last_error();
  large.expect_solves(first.get());
  small.expect_solves(second.get());
  second.reset();
  EXPECT_EQ(leased(budget.get()), of_one);
  // The solver keeps it.
  budget.reset();
  large.expect_solves(first.get());
}

TEST(SolverCInterface, RefusesWhatIsNotLeftOfABudget) {
  keep_heap_small();
  const Grid grid("20x20x20");
  const BudgetHandle budget = make_budget(resident_bytes() + 60 * kMiB);
  espalier_solver_options options = on_starpu();
  options.budget = budget.get();
  Handle one, other;
  ASSERT_EQ(grid.create(one, options), 0) << espalier_solver_last_error();
  ASSERT_EQ(espalier_solver_plan(one.get(), INT64_MAX), 0)
      << espalier_solver_last_error();
  const Grid large("60x60x60");
  EXPECT_EQ(large.create(other, options), -ENOMEM);
  EXPECT_NE(std::string(espalier_solver_last_error()).find("would do"),
            std::string::npos);
  EXPECT_EQ(other, nullptr);

  EXPECT_EQ(espalier_solver_plan(one.get(), 1), -ENOMEM);
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{-2}}) {
    espalier_solver_budget* none = nullptr;
    EXPECT_EQ(espalier_solver_budget_create(&none, bytes), -EINVAL);
    EXPECT_EQ(none, nullptr);
  }
  EXPECT_EQ(espalier_solver_budget_create(nullptr, 1), -EINVAL);
  EXPECT_EQ(espalier_solver_budget_read(nullptr, nullptr, nullptr, nullptr), -EINVAL);
  EXPECT_EQ(espalier_solver_budget_read(budget.get(), nullptr, nullptr, nullptr), 0);
  espalier_solver_budget_destroy(nullptr);
  options.lease_seconds = -1;
  EXPECT_EQ(grid.create(other, options), -EINVAL);
}

TEST(SolverCInterface, AdoptsTheStarpuOfAProgram) {
  const Grid grid("10x10x10");
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  options.runtime = ESPALIER_SOLVER_RUNTIME_ADOPTED;
  Handle solver;
  EXPECT_EQ(grid.create(solver, options), -EBUSY);  // nothing runs
  starpu_conf conf;
  starpu_conf_init(&conf);
  conf.ncpus = 2;
  conf.ncuda = conf.nopencl = 0;
  conf.sched_policy_name = "eager";
  if (starpu_init(&conf) != 0) GTEST_SKIP() << "StarPU does not start";
  EXPECT_EQ(grid.create(solver, on_starpu()), -EBUSY);
  ASSERT_EQ(grid.create(solver, options), 0) << espalier_solver_last_error();
  ASSERT_EQ(espalier_solver_plan(solver.get(), ESPALIER_SOLVER_MEMORY_LEAST), 0);
  ASSERT_EQ(espalier_solver_factorise(solver.get()), 0);
  grid.expect_solves(solver.get());
  solver.reset();
  options.workers = 7;
  EXPECT_EQ(grid.create(solver, options), -EINVAL);
  EXPECT_EQ(starpu_is_initialized(), 1);
  starpu_shutdown();
}

// The struct as it was before these fields.
TEST(SolverCInterface, TakesOptionsWithoutABudget) {
  const Grid grid("8x8x8");
  espalier_solver_options options = on_starpu();
  options.size = 72;
  options.budget = reinterpret_cast<espalier_solver_budget*>(8);  // not read
  options.lease_seconds = -1;
  Handle solver;
  ASSERT_EQ(grid.create(solver, options), 0) << espalier_solver_last_error();
  ASSERT_EQ(espalier_solver_plan(solver.get(), INT64_MAX), 0);
  ASSERT_EQ(espalier_solver_factorise(solver.get()), 0);
  grid.expect_solves(solver.get());
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
