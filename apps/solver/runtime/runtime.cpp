// StarPU of the process, which all Runtimes share, from its start or adoption to its end:
// over 300 lines.

#include "solver/runtime/runtime.h"

#include <espalier.h>
#include <fmt/format.h>
#include <starpu.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "espalier/machine/platform.h"
#include "espalier/machine/thread_room.h"
#include "espalier/model/error.h"
#include "solver/memory/address_space.h"
#include "solver/runtime/performance_directory.h"
#include "solver/runtime/starpu_tasks.h"
#include "solver/runtime/task_group.h"
#include "solver/runtime/without_devices.h"

namespace espalier::solver {
namespace {

// Resident of StarPU and its libraries once it runs, and of each worker with what BLAS
// keeps for it.
constexpr Bytes kStart = Bytes{24} << 20, kStartPerWorker = Bytes{8} << 20;

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

void warm_up_task(void* /*buffers*/[], void* argument) noexcept {
  static_cast<SharedWarmUp*>(argument)->call();
}

// What the Runtimes of the process share: StarPU is one.
struct Shared {
  std::mutex mutex;
  int users = 0, awake = 0;
  RuntimeOptions options;
  bool adopted = false;
  pid_t process = 0;  // that had the first user
  unsigned context = 0;
  std::array<int, STARPU_NMAXWORKERS> rank{};  // by StarPU's number; -1: none of ours
  std::optional<OneBlasThread> one_blas_thread;
  std::mutex warming;  // before `mutex`, where both are taken
  bool warm = false;
};
Shared& shared() {
  static Shared of_the_process;
  return of_the_process;
}

// In what fork() made of a process where StarPU ran: its threads are not here, and nobody
// wakes who waits for them.
bool is_copy() {
  const pid_t process = shared().process;
  return process != 0 && process != getpid() && starpu_is_initialized() != 0;
}
void check_no_copy() {
  if (is_copy())
    throw Busy(
        "fork() made this process of one where a solver runs StarPU, whose threads are "
        "not here: end solvers before fork()");
}

std::vector<int> cpu_workers() {
  std::vector<int> ids(starpu_cpu_worker_get_count());
  starpu_worker_get_ids_by_type(STARPU_CPU_WORKER, ids.data(),
                                static_cast<unsigned>(ids.size()));
  std::sort(ids.begin(), ids.end());
  return ids;
}

void number_workers(const std::vector<int>& ids) {
  shared().rank.fill(-1);
  int rank = 0;
  for (const int id : ids) shared().rank[static_cast<std::size_t>(id)] = rank++;
}

int init_without_devices(starpu_conf& conf) {
  const WithoutDevices here;
  const PerformanceDirectory writable;
  return starpu_init(&conf);
}

// Its workers, and who watches them where that is asked for.
std::int32_t threads_of_starpu(std::int32_t workers) {
  const char* const watchdog = std::getenv("STARPU_WATCHDOG_TIMEOUT");
  return watchdog != nullptr ? workers + 1 : workers;
}

void start(const RuntimeOptions& options) {
  if (starpu_is_initialized() != 0)
    throw Busy("StarPU runs in this process already: the program's can be adopted");
  setenv("STARPU_SILENT", "1", 0);
  check_thread_room(threads_of_starpu(options.workers));
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
  if (const int status = init_without_devices(conf); status != 0)
    throw Error(fmt::format("StarPU does not start: {}", std::strerror(-status)));
  const std::vector<int> ids = cpu_workers();
  if (std::ssize(ids) < options.workers) {
    starpu_shutdown();
    throw InvalidInput(fmt::format("{} workers: StarPU gives at most {} on this machine",
                                   options.workers, ids.size()));
  }
  number_workers(ids);
  shared().context = 0;
  shared().warm = false;
  shared().one_blas_thread.emplace();
  starpu_pause();
}

// A context beside those of the program, on workers that they keep.
void adopt_workers(std::int32_t workers) {
  std::vector<int> ids = cpu_workers();
  ids.resize(static_cast<std::size_t>(workers));
  // StarPU aborts where it has none left: the last one is left to the program.
  unsigned used = 0;
  for (unsigned context = 0; context < STARPU_NMAX_SCHED_CTXS; ++context)
    used += starpu_sched_ctx_get_sched_policy(context) != nullptr ? 1 : 0;
  if (used >= STARPU_NMAX_SCHED_CTXS)
    throw Error(fmt::format("StarPU has no scheduling context left of its {}",
                            STARPU_NMAX_SCHED_CTXS));
  const unsigned context =
      starpu_sched_ctx_create(ids.data(), workers, "espalier_solver",
                              STARPU_SCHED_CTX_POLICY_STRUCT, espalier_sched_policy(), 0);
  if (context >= STARPU_NMAX_SCHED_CTXS)
    throw Error("StarPU refuses a scheduling context");
  number_workers(ids);
  shared().context = context;
  shared().warm = false;
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

std::int32_t default_workers() { return std::min(own_cores(), STARPU_MAXCPUS); }

Bytes blas_bytes(std::int32_t threads) { return kStartPerWorker * threads; }

Bytes start_bytes(std::int32_t workers) {
  const std::scoped_lock lock(shared().mutex);
  return shared().users > 0 ? 0 : kStart + kStartPerWorker * workers;
}

int worker_rank() noexcept {
  const int id = starpu_worker_get_id();
  return id < 0 ? -1 : shared().rank[static_cast<std::size_t>(id)];
}

void check(const RuntimeOptions& options) {
  if (options.workers < 1 || options.workers > STARPU_MAXCPUS)
    throw InvalidInput(fmt::format("workers is {}: this build of StarPU has from 1 to {}",
                                   options.workers, STARPU_MAXCPUS));
  check_scheduler(options.scheduler);
}

void check_room(const RuntimeOptions& options) {
  if (!has_address_limit()) return;
  {
    const std::scoped_lock lock(shared().mutex);
    if (shared().users > 0) return;  // they have their room
  }
  const Bytes needed = runtime_address_space(options.workers);
  check_address_space(needed, [&] {
    const char* const need = options.workers == 1 ? "worker needs" : "workers need";
    return fmt::format("{} {} {} more", options.workers, need, format_size(needed));
  });
}

Runtime::Runtime(const RuntimeOptions& options) : options_(options) {
  check(options);
  check_room(options);
  const std::scoped_lock lock(shared().mutex);
  check_no_copy();
  if (shared().users > 0 && shared().adopted)
    throw Busy("StarPU is the program's, and adopted by another solver");
  if (shared().users == 0) {
    start(options);
    shared().options = options;
    shared().adopted = false;
    shared().process = getpid();
    shared().awake = 0;
  } else {
    check_same(options, shared().options);
  }
  ++shared().users;
}

Runtime Runtime::adopt(std::int32_t workers) { return Runtime(Adopted(workers)); }

Runtime::Runtime(Adopted adopted) : adopted_(true) {
  const std::scoped_lock lock(shared().mutex);
  check_no_copy();
  if (starpu_is_initialized() == 0)
    throw Busy("StarPU does not run: there is nothing to adopt");
  if (shared().users > 0 && !shared().adopted)
    throw Busy("StarPU was started by another solver: it is not the program's");
  const auto there = static_cast<std::int32_t>(starpu_cpu_worker_get_count());
  if (adopted.workers < 0 || adopted.workers > there || there == 0)
    throw InvalidInput(fmt::format("{} workers: the program's StarPU has {} on CPUs",
                                   adopted.workers, there));
  options_.workers = adopted.workers == 0 ? there : adopted.workers;
  if (shared().users == 0) {
    adopt_workers(options_.workers);
    shared().options = options_;
    shared().adopted = true;
    shared().process = getpid();
    shared().awake = 0;
  } else {
    check_same(options_, shared().options);
  }
  context_ = shared().context;
  ++shared().users;
}

void Runtime::wake() const {
  const std::scoped_lock lock(shared().mutex);
  check_no_copy();
  if (shared().awake++ > 0) return;
  if (adopted_)
    shared().one_blas_thread.emplace();
  else
    starpu_resume();
}

void Runtime::sleep() const {
  const std::scoped_lock lock(shared().mutex);
  if (--shared().awake > 0) return;
  if (adopted_)
    shared().one_blas_thread.reset();
  else
    starpu_pause();
}

Runtime::~Runtime() {
  const std::scoped_lock lock(shared().mutex);
  if (--shared().users > 0 || is_copy()) return;
  if (adopted_) {
    starpu_sched_ctx_delete(context_);
    return;
  }
  if (shared().awake == 0) starpu_resume();  // StarPU does not shut down otherwise
  starpu_shutdown();
  shared().one_blas_thread.reset();
}

namespace {

void call_from_workers(SharedWarmUp& warm, const Runtime& runtime) {
  static starpu_codelet codelet = make_codelet(warm_up_task, "warm_up");
  TaskGroup tasks(runtime);
  for (std::int32_t worker = 0; worker < runtime.workers(); ++worker) {
    starpu_task* const task = starpu_task_create();
    task->cl = &codelet;
    task->cl_arg = &warm;
    task->execute_on_a_specific_worker = 1;
    task->workerid = static_cast<unsigned>(worker);
    tasks.submit(task);
  }
  tasks.wait();
}

}  // namespace

// One at a time: calls of two of them would wait for each other's workers.
void Runtime::warm_up() {
  const std::scoped_lock lock(shared().warming);
  if (shared().warm) return;
  SharedWarmUp warm(options_.workers);
  const Awake awake(*this);
  if (adopted_)  // whose workers may have tasks that wait for the program
    warm.call_from_threads();
  else
    call_from_workers(warm, *this);
  if (warm.has_failed()) throw std::bad_alloc();
  shared().warm = true;
}

}  // namespace espalier::solver
