#include "solver/runtime.h"

#include <espalier.h>
#include <fmt/format.h>
#include <starpu.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "espalier/model/error.h"
#include "solver/kernels/dense.h"

namespace espalier::solver {
namespace {

void check_scheduler(const std::string& name) {
  std::string known = "espalier";
  if (name == known) return;
  for (auto** policy = starpu_sched_get_predefined_policies(); *policy != nullptr;
       ++policy) {
    if (name == (*policy)->policy_name) return;
    known += fmt::format(", {}", (*policy)->policy_name);
  }
  throw InvalidInput(fmt::format("unknown scheduler '{}': one of {}", name, known));
}

// Orders beyond the blocking of any BLAS, so that its buffers are used to the full.
constexpr std::int32_t kWarmOrder = 768;

struct WarmUp {
  std::int32_t workers;
  std::atomic<std::int32_t> arrived{0};
};

void warm_up_task(void* /*buffers*/[], void* argument) {
  auto& warm = *static_cast<WarmUp*>(argument);
  std::vector<double> a(static_cast<std::size_t>(kWarmOrder) * kWarmOrder, 1e-3), c = a;
  for (std::int32_t i = 0; i < kWarmOrder; ++i) a[i * (kWarmOrder + 1)] = 2.0;
  ++warm.arrived;
  while (warm.arrived.load() < warm.workers) std::this_thread::yield();
  const auto half = kWarmOrder / 2;
  kernels::update(kWarmOrder, half, kWarmOrder, a.data(), kWarmOrder, c.data(),
                  kWarmOrder);
  kernels::solve_below(half, half, a.data(), kWarmOrder, c.data(), kWarmOrder);
  kernels::cholesky(half, a.data(), kWarmOrder);
}

}  // namespace

Runtime::Runtime(const RuntimeOptions& options) : options_(options) {
  if (options.workers < 1)
    throw InvalidInput(fmt::format("{} workers: at least 1 is needed", options.workers));
  check_scheduler(options.scheduler);
  setenv("STARPU_SILENT", "1", 0);
  starpu_conf conf;
  starpu_conf_init(&conf);
  conf.precedence_over_environment_variables = 1;
  conf.ncpus = options.workers;
  conf.ncuda = 0;
  conf.nopencl = 0;
  conf.sched_policy = espalier() ? espalier_sched_policy() : nullptr;
  conf.sched_policy_name = espalier() ? nullptr : options_.scheduler.c_str();
  if (const int status = starpu_init(&conf); status != 0)
    throw Error(fmt::format("StarPU does not start: {}", std::strerror(-status)));
  const auto started = static_cast<std::int32_t>(starpu_cpu_worker_get_count());
  if (started < options.workers) {
    starpu_shutdown();
    throw InvalidInput(fmt::format("{} workers: StarPU gives at most {} on this machine",
                                   options.workers, started));
  }
  kernels::use_one_blas_thread();
}

Runtime::~Runtime() { starpu_shutdown(); }

void Runtime::warm_up() {
  static starpu_codelet codelet = [] {
    starpu_codelet c;
    starpu_codelet_init(&c);
    c.cpu_funcs[0] = warm_up_task;
    c.name = "warm_up";
    return c;
  }();
  WarmUp warm{.workers = options_.workers};
  for (std::int32_t worker = 0; worker < options_.workers; ++worker) {
    starpu_task* const task = starpu_task_create();
    task->cl = &codelet;
    task->cl_arg = &warm;
    task->execute_on_a_specific_worker = 1;
    task->workerid = static_cast<unsigned>(worker);
    if (const int status = starpu_task_submit(task); status != 0)
      throw Error(fmt::format("StarPU refuses a task: {}", std::strerror(-status)));
  }
  starpu_task_wait_for_all();
}

}  // namespace espalier::solver
