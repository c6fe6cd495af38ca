// Solvers inside a program that runs StarPU itself.

#include <gtest/gtest.h>
#include <starpu.h>
#include <starpu_scheduler.h>

#include <atomic>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "espalier/solver/solver.h"
#include "solver/matrix/grid.h"
#include "solver/runtime/runtime.h"
#include "solver/support/temporary_file.h"

namespace espalier::solver {
namespace TEST_SOURCE {

SolverOptions always_on_runtime(FactorKind kind = FactorKind::kCholesky) {
  SolverOptions options;
  options.kind = kind;
  options.workers = 2;
  options.runtime_flops = 0;
  return options;
}

// A program that runs StarPU with two workers under a policy of StarPU's own.
class Program {
 public:
  explicit Program(const char* policy = "eager") {
    starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 2;
    conf.ncuda = conf.nopencl = 0;
    conf.sched_policy_name = policy;
    started_ = starpu_init(&conf) == 0;
    make(closed_, closed_task, 0);
    make(link_, chain_task, 1);
  }
  ~Program() {
    open_ = true;
    if (started_) starpu_shutdown();
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] bool started() const { return started_; }

  // One that keeps a worker until open().
  void submit_closed() { submit(closed_, nullptr); }
  void open() { open_ = true; }
  [[nodiscard]] bool closed_one_ended() const { return closed_ended_; }

  // Appends its number, one after the other by their handle.
  void submit_chain(int length) {
    starpu_variable_data_register(&handle_, STARPU_MAIN_RAM,
                                  reinterpret_cast<std::uintptr_t>(&chain_),
                                  sizeof chain_);
    for (int k = 0; k < length; ++k) submit(link_, handle_);
  }
  [[nodiscard]] std::int64_t chain_so_far() const { return ended_.load(); }
  std::int64_t wait_for_chain() {
    starpu_data_unregister(handle_);
    return chain_;
  }
  [[nodiscard]] bool seen_elsewhere() const { return elsewhere_; }

 private:
  static void make(starpu_codelet& codelet, void (*function)(void**, void*),
                   int buffers) {
    starpu_codelet_init(&codelet);
    codelet.cpu_funcs[0] = function;
    codelet.nbuffers = buffers;
    codelet.modes[0] = STARPU_RW;
  }
  void submit(starpu_codelet& codelet, starpu_data_handle_t handle) {
    starpu_task* const task = starpu_task_create();
    task->cl = &codelet;
    task->cl_arg = this;
    if (handle != nullptr) task->handles[0] = handle;
    ASSERT_EQ(starpu_task_submit(task), 0);
  }
  static void closed_task(void** /*buffers*/, void* argument) {
    auto& program = *static_cast<Program*>(argument);
    while (!program.open_) std::this_thread::yield();
    program.closed_ended_ = true;
  }
  static void chain_task(void** buffers, void* argument) {
    auto& program = *static_cast<Program*>(argument);
    ++*reinterpret_cast<std::int64_t*>(STARPU_VARIABLE_GET_PTR(buffers[0]));
    if (starpu_task_get_current()->sched_ctx != 0) program.elsewhere_ = true;
    ++program.ended_;
  }

  bool started_ = false;
  starpu_codelet closed_{}, link_{};
  std::atomic<bool> open_ = false, closed_ended_ = false, elsewhere_ = false;
  std::atomic<std::int64_t> ended_ = 0;
  starpu_data_handle_t handle_ = nullptr;
  std::int64_t chain_ = 0;
};

struct Solved {
  std::vector<double> x;
  double backward_error = 1;
};

Solved run(Solver& solver, std::optional<Bytes> bound) {
  EXPECT_TRUE(solver.plan(bound));
  EXPECT_TRUE(solver.factorise());
  Solved run{.x = solver.apply_to_ones()};
  run.backward_error = solver.solve(run.x).refinement.backward_error;
  return run;
}

Solved run_alone(const char* grid, FactorKind kind) {
  Solver solver(make_grid(parse_grid(grid)), always_on_runtime(kind));
  return run(solver, solver.least());
}

std::string policy_of_program() {
  return starpu_sched_ctx_get_sched_policy(0)->policy_name;
}

// While one of the program's tasks keeps a worker until the solver is done, and others
// follow one another on the other worker.
TEST(AdoptedRuntime, SolvesBesideTheTasksOfAProgram) {
  for (const char* const policy : {"eager", "lws", "dmda"}) {
    SCOPED_TRACE(policy);
    const Solved alone = run_alone("12x12x12", FactorKind::kLdlt);
    Program program(policy);
    if (!program.started()) GTEST_SKIP() << "StarPU does not start";
    const std::string before = policy_of_program();
    program.submit_closed();
    program.submit_chain(300);
    {
      Runtime runtime = Runtime::adopt();
      EXPECT_EQ(runtime.workers(), 2);
      EXPECT_NE(runtime.context(), 0U);
      Solver solver(runtime, make_grid(parse_grid("12x12x12")),
                    always_on_runtime(FactorKind::kLdlt));
      EXPECT_FALSE(solver.without_runtime());
      const Solved beside = run(solver, solver.least());
      EXPECT_EQ(beside.x, alone.x);
      EXPECT_LE(beside.backward_error, 1e-15);
      EXPECT_FALSE(program.closed_one_ended());
    }
    EXPECT_NE(starpu_is_initialized(), 0);
    EXPECT_EQ(policy_of_program(), before);
    EXPECT_FALSE(program.closed_one_ended());
    program.open();
    EXPECT_EQ(program.wait_for_chain(), 300);
    EXPECT_FALSE(program.seen_elsewhere());
    starpu_task_wait_for_all();
    EXPECT_TRUE(program.closed_one_ended());
  }
}

// Nothing is paused between factorisations.
TEST(AdoptedRuntime, LeavesTheProgramAwake) {
  Program program;
  if (!program.started()) GTEST_SKIP() << "StarPU does not start";
  Runtime runtime = Runtime::adopt(1);
  Solver solver(runtime, make_grid(parse_grid("8x8x8")), always_on_runtime());
  EXPECT_LE(run(solver, std::nullopt).backward_error, 1e-15);
  program.submit_chain(50);
  EXPECT_EQ(program.wait_for_chain(), 50);
}

TEST(AdoptedRuntime, ServesSolversOfSeveralThreads) {
  const FactorKind kinds[] = {FactorKind::kCholesky, FactorKind::kLdlt, FactorKind::kLu};
  std::vector<Solved> alone;
  for (const FactorKind kind : kinds) alone.push_back(run_alone("9x9x9", kind));
  Program program;
  if (!program.started()) GTEST_SKIP() << "StarPU does not start";
  program.submit_chain(100);
  std::vector<Solved> beside(std::size(kinds));
  {
    std::vector<std::jthread> threads;
    for (std::size_t k = 0; k < std::size(kinds); ++k)
      threads.emplace_back([&, k] {
        Runtime runtime = Runtime::adopt();
        Solver solver(runtime, make_grid(parse_grid("9x9x9")),
                      always_on_runtime(kinds[k]));
        beside[k] = run(solver, std::nullopt);
      });
  }
  for (std::size_t k = 0; k < std::size(kinds); ++k) EXPECT_EQ(beside[k].x, alone[k].x);
  EXPECT_EQ(program.wait_for_chain(), 100);
}

TEST(AdoptedRuntime, LoadsSavedFactorisations) {
  const TemporaryFile file;
  Solved alone;
  {
    Solver solver(make_grid(parse_grid("8x8x8")), always_on_runtime());
    alone = run(solver, std::nullopt);
    solver.save(file.path());
  }
  Program program;
  if (!program.started()) GTEST_SKIP() << "StarPU does not start";
  Runtime runtime = Runtime::adopt();
  const auto solver = Solver::load(runtime, file.path(), always_on_runtime());
  Solved loaded{.x = solver->apply_to_ones()};
  (void)solver->solve(loaded.x);
  EXPECT_EQ(loaded.x, alone.x);
}

TEST(AdoptedRuntime, IsRefusedWhereItCannotBe) {
  EXPECT_THROW((void)Runtime::adopt(), Busy);  // nothing runs
  {
    const Runtime ours(RuntimeOptions{.workers = 2});
    EXPECT_THROW((void)Runtime::adopt(), Busy);
  }
  Program program;
  if (!program.started()) GTEST_SKIP() << "StarPU does not start";
  EXPECT_THROW((void)Runtime(RuntimeOptions{.workers = 2}), Busy);
  EXPECT_THROW((void)Runtime::adopt(3), InvalidInput);
  EXPECT_THROW((void)Runtime::adopt(-1), InvalidInput);
  const Runtime adopted = Runtime::adopt(2);
  EXPECT_NO_THROW((void)Runtime::adopt(2));
  EXPECT_THROW((void)Runtime::adopt(1), Busy);
  EXPECT_THROW((void)Runtime(RuntimeOptions{.workers = 2}), Busy);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
