#include "solver/runtime/runtime.h"

#include <espalier.h>
#include <fmt/format.h>
#include <starpu.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string_view>
#include <thread>

#include "espalier/machine/platform.h"
#include "espalier/model/error.h"
#include "solver/kernels/dense.h"
#include "solver/memory/address_space.h"
#include "solver/memory/page_buffer.h"
#include "solver/runtime/starpu_tasks.h"

namespace espalier::solver {
namespace {

void check_scheduler(const std::string& name) {
  std::string known = "espalier";
  if (name == known) return;
  for (auto** policy = starpu_sched_get_predefined_policies(); *policy != nullptr;
       ++policy) {
    if (name == (*policy)->policy_name) return;
    if (std::string_view("espalier") != (*policy)->policy_name)
      known += fmt::format(", {}", (*policy)->policy_name);
  }
  throw InvalidInput(fmt::format("unknown scheduler '{}': one of {}", name, known));
}

// Operands beyond the blocking of BLAS in each direction that fronts use.
constexpr std::int32_t kWarmRows = 576, kWarmColumns = 448;
constexpr auto kWarmTime = std::chrono::milliseconds(10);

struct WarmUp {
  std::int32_t workers;
  std::atomic<std::int32_t> arrived{0}, done{0};
  std::atomic<bool> has_failed{false};
};

void wait_for(const std::atomic<std::int32_t>& count, std::int32_t workers) {
  while (count.load() < workers) std::this_thread::yield();
}

// Operands of BLAS calls: touched before and freed after, so that the peak is always the
// same.
class Operands {
 public:
  Operands(std::int32_t rows, std::int32_t columns)
      : rows_(rows),
        columns_(columns),
        panel_(Bytes{rows} * columns * static_cast<Bytes>(sizeof(double))),
        target_(panel_.size()) {
    std::memset(panel_.data(), 0, static_cast<std::size_t>(panel_.size()));
    std::memset(target_.data(), 0, static_cast<std::size_t>(target_.size()));
    double* const a = panel_.as<double>();
    for (std::int32_t i = 0; i < columns_; ++i) a[std::int64_t{i} * (rows_ + 1)] = 1.0;
  }

  void call() {
    double* const a = panel_.as<double>();
    kernels::cholesky(columns_, a, rows_);
    kernels::solve_below(rows_ - columns_, columns_, a, rows_, a + columns_, rows_);
    kernels::update_lower(rows_, columns_, columns_, a, rows_, target_.as<double>(),
                          rows_);
  }

 private:
  std::int32_t rows_, columns_;
  PageBuffer panel_, target_;
};

// BLAS hands its buffers out call by call: only calls at the same time use several of
// them.
void call_blas(WarmUp& warm) {
  Operands operands(kWarmRows, kWarmColumns);
  ++warm.arrived;
  wait_for(warm.arrived, warm.workers);
  const auto start = std::chrono::steady_clock::now();
  do {
    operands.call();
  } while (std::chrono::steady_clock::now() - start < kWarmTime);
}

void warm_up_task(void* /*buffers*/[], void* argument) noexcept {
  auto& warm = *static_cast<WarmUp*>(argument);
  try {
    call_blas(warm);
  } catch (...) {  // no memory for the operands: the others do not wait for this one
    warm.has_failed = true;
    ++warm.arrived;
  }
  ++warm.done;
  wait_for(warm.done, warm.workers);
}

// What the Runtimes of the process share: StarPU is one.
struct Shared {
  std::mutex mutex;
  int users = 0, awake = 0;
  RuntimeOptions options;
  int one_thread = 0;             // that want one BLAS thread: StarPU, OneBlasThreads
  std::int32_t blas_threads = 0;  // before them
};
Shared& shared() {
  static Shared of_the_process;
  return of_the_process;
}

// BLAS belongs to the program, too: it has its threads back when nobody needs one alone.
void need_one_blas_thread() {
  if (shared().one_thread++ > 0) return;
  shared().blas_threads = kernels::blas_threads();
  if (shared().blas_threads != 1) kernels::use_one_blas_thread();
}

void leave_one_blas_thread() {
  if (--shared().one_thread > 0) return;
  if (shared().blas_threads != 1) kernels::use_blas_threads(shared().blas_threads);
}

void start(const RuntimeOptions& options) {
  if (starpu_is_initialized() != 0) throw Busy("StarPU runs in this process already");
  setenv("STARPU_SILENT", "1", 0);
  const bool espalier = options.scheduler == "espalier";
  starpu_conf conf;
  starpu_conf_init(&conf);
  conf.precedence_over_environment_variables = 1;
  conf.catch_signals = 0;  // they are the program's
  conf.ncpus = options.workers;
  conf.ncuda = 0;
  conf.nopencl = 0;
  conf.sched_policy = espalier ? espalier_sched_policy() : nullptr;
  conf.sched_policy_name = espalier ? nullptr : options.scheduler.c_str();
  if (const int status = starpu_init(&conf); status != 0)
    throw Error(fmt::format("StarPU does not start: {}", std::strerror(-status)));
  const auto started = static_cast<std::int32_t>(starpu_cpu_worker_get_count());
  if (started < options.workers) {
    starpu_shutdown();
    throw InvalidInput(fmt::format("{} workers: StarPU gives at most {} on this machine",
                                   options.workers, started));
  }
  need_one_blas_thread();
  starpu_pause();
}

// Of a second sharer.
void check_same(const RuntimeOptions& options, const RuntimeOptions& running) {
  if (options.workers == running.workers && options.scheduler == running.scheduler)
    return;
  throw Busy(
      fmt::format("StarPU runs in this process already, with {} workers and "
                  "scheduler '{}': another solver exists",
                  running.workers, running.scheduler));
}

}  // namespace

std::int32_t default_workers() { return std::min(core_share().own, STARPU_MAXCPUS); }

void check(const RuntimeOptions& options) {
  if (options.workers < 1 || options.workers > STARPU_MAXCPUS)
    throw InvalidInput(fmt::format("{} workers: this build of StarPU has from 1 to {}",
                                   options.workers, STARPU_MAXCPUS));
  check_scheduler(options.scheduler);
  {
    const std::scoped_lock lock(shared().mutex);
    if (shared().users > 0) return;  // they have their room
  }
  const Bytes needed = runtime_address_space(options.workers);
  check_address_space(needed,
                      fmt::format("{} worker{} need {} more", options.workers,
                                  options.workers == 1 ? "" : "s", format_size(needed)));
}

Runtime::Runtime(const RuntimeOptions& options) : options_(options) {
  check(options);
  const std::scoped_lock lock(shared().mutex);
  if (shared().users == 0) {
    start(options);
    shared().options = options;
    shared().awake = 0;
  } else {
    check_same(options, shared().options);
  }
  ++shared().users;
}

void Runtime::wake() const {
  const std::scoped_lock lock(shared().mutex);
  if (shared().awake++ == 0) starpu_resume();
}

void Runtime::sleep() const {
  const std::scoped_lock lock(shared().mutex);
  if (--shared().awake == 0) starpu_pause();
}

Runtime::~Runtime() {
  const std::scoped_lock lock(shared().mutex);
  if (--shared().users > 0) return;
  if (shared().awake == 0) starpu_resume();  // StarPU does not shut down otherwise
  starpu_shutdown();
  leave_one_blas_thread();
}

OneBlasThread::OneBlasThread() {
  const std::scoped_lock lock(shared().mutex);
  need_one_blas_thread();
}

OneBlasThread::~OneBlasThread() {
  const std::scoped_lock lock(shared().mutex);
  leave_one_blas_thread();
}

void warm_up_blas(std::int32_t rows, std::int32_t columns) {
  const OneBlasThread one_thread;
  rows = std::min(rows, kWarmRows);
  columns = std::min({columns, rows, kWarmColumns});
  if (columns > 0) Operands(rows, columns).call();
}

void Runtime::warm_up() {
  static starpu_codelet codelet = make_codelet(warm_up_task, "warm_up");
  WarmUp warm{.workers = options_.workers};
  for (std::int32_t worker = 0; worker < options_.workers; ++worker) {
    starpu_task* const task = starpu_task_create();
    task->cl = &codelet;
    task->cl_arg = &warm;
    task->execute_on_a_specific_worker = 1;
    task->workerid = static_cast<unsigned>(worker);
    check_submission(starpu_task_submit(task));
  }
  wake();
  starpu_task_wait_for_all();
  sleep();
  if (warm.has_failed) throw std::bad_alloc();
}

}  // namespace espalier::solver
