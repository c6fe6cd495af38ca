// Solvers that share one bound on the process.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "solver/api/solver.h"
#include "solver/matrix/grid.h"
#include "solver/memory/budget.h"
#include "solver/memory/process_memory.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using namespace std::chrono_literals;

constexpr Bytes kMiB = Bytes{1} << 20;

struct System {
  std::string grid;
  FactorKind kind = FactorKind::kCholesky;
};

SolverOptions options_for(const System& system, std::shared_ptr<Budget> budget = {},
                          Budget::Duration patience = 0s) {
  SolverOptions options;
  options.kind = system.kind;
  options.workers = 2;
  options.runtime_flops = 0;
  options.budget = std::move(budget);
  options.lease_patience = patience;
  return options;
}

SymmetricMatrix matrix_of(const System& system) {
  return make_grid(parse_grid(system.grid));
}

std::vector<double> factor_and_solve(Solver& solver) {
  const auto run = solver.factorise();
  EXPECT_TRUE(run);
  std::vector<double> x = solver.apply_to_ones();
  EXPECT_LE(solver.solve(x).refinement.backward_error, 1e-15);
  if (solver.lease() != nullptr) {
    EXPECT_LE(solver.lease()->held().peak(), solver.lease()->bytes());
  }
  return x;
}

struct Alone {
  std::vector<double> x;
  Bytes inside = 0;  // of its lease, the least
  Bytes analysis = 0;
};

Alone solve_alone(Runtime& runtime, const System& system) {
  const auto budget = Budget::create(Bytes{1} << 40);
  SymmetricMatrix matrix = matrix_of(system);
  const Bytes analysis = analysis_bytes(matrix.size, std::ssize(matrix.row));
  Solver solver(runtime, std::move(matrix), options_for(system, budget));
  EXPECT_TRUE(solver.plan(solver.least_for_plan()));
  return {factor_and_solve(solver), solver.memory().inside(), analysis};
}

// VmHWM from now on.
Bytes start_peak() {
  trim_heap();
  if (!reset_peak_resident()) ADD_FAILURE() << "VmHWM cannot be reset";
  return resident_bytes();
}

TEST(SolversInABudget, TwoFromTwoThreadsKeepToOneBound) {
  keep_heap_small();
  const System systems[] = {{"26x26x26", FactorKind::kCholesky},
                            {"20x20x20", FactorKind::kLu}};
  Runtime runtime(RuntimeOptions{.workers = 2});
  std::vector<Alone> alone;
  for (const System& system : systems) alone.push_back(solve_alone(runtime, system));
  // What each needs at least, and a tenth: less than both would take without a bound.
  Bytes room = 8 * kMiB;  // vectors, what is counted late
  for (const Alone& one : alone) room += one.inside * 11 / 10 + one.analysis;
  const Bytes before = start_peak();
  const auto budget = Budget::create(before + room);
  std::vector<double> x[2];
  {
    std::vector<std::jthread> threads;
    for (int k = 0; k < 2; ++k)
      threads.emplace_back([&, k] {
        Solver solver(runtime, matrix_of(systems[k]),
                      options_for(systems[k], budget, 200s));
        const auto planned = solver.plan(solver.least_for_plan());
        ASSERT_TRUE(planned) << planned.error().message();
        EXPECT_EQ(solver.lease()->bytes(), alone[static_cast<std::size_t>(k)].inside);
        x[k] = factor_and_solve(solver);
        EXPECT_NE(solver.lease(), nullptr);
      });
  }
  EXPECT_LE(peak_resident_bytes(), budget->bytes());
  EXPECT_GT(peak_resident_bytes() - before, alone[0].inside / 2);
  RecordProperty("growth", std::to_string(peak_resident_bytes() - before));
  RecordProperty("room", std::to_string(room));
  for (int k = 0; k < 2; ++k) EXPECT_EQ(x[k], alone[static_cast<std::size_t>(k)].x);
  EXPECT_EQ(budget->leased(), 0);
}

TEST(SolversInABudget, TenAliveAtOnceGiveTheirOwnResults) {
  keep_heap_small();
  std::vector<System> systems;
  for (int k = 0; k < 10; ++k)
    systems.push_back({std::to_string(8 + k) + "x9x10", static_cast<FactorKind>(k % 3)});
  Runtime runtime(RuntimeOptions{.workers = 2});
  std::vector<Alone> alone;
  Bytes room = 16 * kMiB;  // matrices and vectors
  for (const System& system : systems) {
    alone.push_back(solve_alone(runtime, system));
    room += alone.back().inside + alone.back().analysis;
  }
  const Bytes before = start_peak();
  const auto budget = Budget::create(before + room);
  std::vector<std::unique_ptr<Solver>> solvers(systems.size());
  std::vector<std::vector<double>> x(systems.size());
  std::atomic<int> alive = 0;
  {
    std::vector<std::jthread> threads;
    for (std::size_t k = 0; k < systems.size(); ++k)
      threads.emplace_back([&, k] {
        solvers[k] = std::make_unique<Solver>(runtime, matrix_of(systems[k]),
                                              options_for(systems[k], budget, 200s));
        const auto planned = solvers[k]->plan(solvers[k]->least_for_plan());
        ASSERT_TRUE(planned) << planned.error().message();
        ++alive;
        while (alive < 10) std::this_thread::sleep_for(1ms);
        for (int round = 0; round < 2; ++round) x[k] = factor_and_solve(*solvers[k]);
      });
  }
  EXPECT_LE(peak_resident_bytes(), budget->bytes());
  for (std::size_t k = 0; k < systems.size(); ++k)
    EXPECT_EQ(x[k], alone[k].x) << systems[k].grid;
  solvers.clear();
  EXPECT_EQ(budget->leased(), 0);
}

TEST(SolversInABudget, AreRefusedWithTheBudgetThatWouldDo) {
  keep_heap_small();
  const System system{"22x22x22", FactorKind::kCholesky};
  Runtime runtime(RuntimeOptions{.workers = 2});
  const Alone alone = solve_alone(runtime, system);
  trim_heap();
  auto budget = Budget::create(resident_bytes() + alone.analysis + 4 * kMiB);
  Bytes sufficient = 0;
  {
    Solver solver(runtime, matrix_of(system), options_for(system, budget));
    ASSERT_LT(budget->left(), alone.inside);
    const auto refused = solver.plan(std::nullopt);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().bound_bytes, budget->bytes());
    EXPECT_GT(refused.error().least_bytes, budget->bytes());
    EXPECT_EQ(solver.lease(), nullptr);
    EXPECT_THROW((void)solver.factorise(), InvalidInput);
    sufficient = refused.error().least_bytes;
  }
  budget = Budget::create(sufficient + kMiB);  // two runs differ by some pages
  Solver solver(runtime, matrix_of(system), options_for(system, budget));
  ASSERT_TRUE(solver.plan(std::nullopt));
  EXPECT_EQ(factor_and_solve(solver), alone.x);
}

TEST(SolversInABudget, AreNotConstructedWhereThereIsNoRoom) {
  const auto budget = Budget::create(resident_bytes() + kMiB);
  EXPECT_THROW(Solver(matrix_of({"6x6x6"}), options_for({"6x6x6"}, budget)),
               BudgetExceeded);
  EXPECT_EQ(budget->leased(), 0);
}

TEST(SolversInABudget, WaitForEachOther) {
  keep_heap_small();
  const System system{"22x22x22", FactorKind::kLdlt};
  Runtime runtime(RuntimeOptions{.workers = 2});
  const Alone alone = solve_alone(runtime, system);
  trim_heap();
  const auto budget = Budget::create(resident_bytes() + alone.inside * 3 / 2 + 6 * kMiB);
  auto first =
      std::make_unique<Solver>(runtime, matrix_of(system), options_for(system, budget));
  Solver second(runtime, matrix_of(system), options_for(system, budget, 200s));
  ASSERT_TRUE(first->plan(first->least_for_plan()));
  ASSERT_LT(budget->left(), alone.inside);
  std::atomic<bool> ended = false;
  const std::jthread other([&] {
    EXPECT_EQ(factor_and_solve(*first), alone.x);
    ended = true;
    first.reset();
  });
  ASSERT_TRUE(second.plan(second.least_for_plan()));
  EXPECT_TRUE(ended);
  EXPECT_EQ(factor_and_solve(second), alone.x);
}

// Of patterns that differ in what is built of them.
TEST(SolversInABudget, LeaseWhatTheirAnalysisTakes) {
  keep_heap_small();
  Runtime runtime(RuntimeOptions{.workers = 2});
  (void)solve_alone(runtime, {"6x6x6"});  // what comes with the first one
  const std::int32_t n = 20000;
  SymmetricMatrix hub{.size = n, .column_start = {0}, .row = {}, .value = {}};
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = j; i < (j == 0 ? n : j + 1); ++i) {
      hub.row.push_back(i);
      hub.value.push_back(i == j ? n : 1);
    }
    hub.column_start.push_back(std::ssize(hub.row));
  }
  const SymmetricMatrix matrices[] = {matrix_of({"30x30x30"}), matrix_of({"200x200"}),
                                      matrix_of({"90000"}), hub};
  for (const SymmetricMatrix& matrix : matrices)
    for (const FactorKind kind :
         {FactorKind::kCholesky, FactorKind::kLdlt, FactorKind::kLu}) {
      SymmetricMatrix copy = matrix;
      const Bytes leased = analysis_bytes(copy.size, std::ssize(copy.row));
      const Bytes before = start_peak();
      const Solver solver(runtime, std::move(copy), options_for({"", kind}));
      EXPECT_LE(peak_resident_bytes() - before, leased) << matrix.size;
    }
}

// A lease follows the plan; the factor is counted in it until it is given up.
TEST(SolversInABudget, HoldTheirFactorInTheirLease) {
  keep_heap_small();
  for (const Flops runtime_flops : {0.0, 1e18}) {
    const System system{"14x14x14", FactorKind::kCholesky};
    const auto budget = Budget::create(resident_bytes() + 400 * kMiB);
    SolverOptions options = options_for(system, budget);
    options.runtime_flops = runtime_flops;
    Solver solver(matrix_of(system), options);
    ASSERT_EQ(solver.lease(), nullptr);
    ASSERT_TRUE(solver.plan(std::nullopt));
    EXPECT_GE(solver.lease()->bytes(), solver.memory().inside());
    EXPECT_EQ(solver.lease()->held().now(), 0);
    ASSERT_TRUE(solver.factorise());
    const Bytes factor = solver.lease()->held().now();
    const Bytes entries = solver.analysis().symbolic.factor_entries;
    EXPECT_GE(factor, entries * 8);
    EXPECT_LE(factor, entries * 16);
    ASSERT_TRUE(solver.factorise());
    EXPECT_EQ(solver.lease()->held().now(), factor);
    solver.release_factor();
    EXPECT_EQ(solver.lease()->held().now(), 0);
    EXPECT_EQ(budget->leased(), solver.lease()->bytes());
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
