// The lock of StarPU-MPI, so that a worker which has to post a message gets it.
//
// StarPU-MPI's thread (1.3 to master of 2026) looks for messages in a loop and has
// `progress_mutex` for nearly all of it: it unlocks it for an instant and locks it again.
// glibc's mutexes are not fair, so a thread that waits for it, to post what a task has
// computed, is woken, finds it taken, and sleeps again, for seconds or for ever; most of
// all with mpi_yield_when_idle, where MPI gives up the core while the mutex is held and
// who waits for it runs just then. Therefore
//
// - StarPU-MPI's own mutexes are taken in turns (turns.h);
// - who holds one of them does not give up the core, but does so after it has unlocked
//   it and before it locks it again. StarPU-MPI's thread does so once for all messages
//   that it asks for in between: on a busy host each time can take milliseconds;
// - where there are more threads than cores, StarPU-MPI's thread sleeps there for a
//   moment instead, when it has looked for messages for a while and found none.
//
// Only StarPU-MPI's calls come here: the entries for them in its own table of addresses
// are changed, on loading, and when StarPU starts for a StarPU-MPI that came later. Other
// libraries lock mutexes as ever. sched_yield() is MPI's call, and taken over for all.

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <starpu.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <thread>

#include "espalier.h"
#include "espalier/machine/platform.h"
#include "policy/core/longest_gap.h"
#include "policy/core/settings.h"
#include "policy/mpi/redirect.h"
#include "policy/mpi/starpu_mpi_lock.h"
#include "policy/mpi/turns.h"
#include "policy/starpu/clock.h"
#include "policy/starpu/handle_gate.h"
#include "policy/starpu/session.h"

namespace espalier::policy {

namespace {

constinit Turns turns;

// StarPU-MPI's: others come and go with its requests, and are not fought over.
std::atomic<const std::byte*> first_variable = nullptr, last_variable = nullptr;

struct Holder {
  int mutexes = 0;         // of StarPU-MPI's that this thread has
  bool looks = false;      // StarPU-MPI's thread asks for a message
  bool owes_core = false;  // it was to give it up meanwhile
  int idle_looks = 0;      // of StarPU-MPI's thread, since it last found something
};
thread_local Holder holder;

bool takes_turns(const pthread_mutex_t* mutex) {
  return Variables{first_variable, last_variable}.has(mutex);
}

// Where idle workers sleep between looks.
bool rests_between_looks() {
  static const bool rests = [] {
    try {
      return idle_sleep(process_environment, starpu_worker_get_count(), core_share()) >
             std::chrono::microseconds(0);
    } catch (const std::exception&) {
      return false;
    }
  }();
  return rests;
}

void let_go_of_core() {
  constexpr int kLooks = 100;
  constexpr std::chrono::microseconds kRest(50);
  const bool owes_core = holder.owes_core;
  holder.owes_core = false;
  if (holder.idle_looks > kLooks && rests_between_looks())
    std::this_thread::sleep_for(kRest);
  else if (owes_core)
    syscall(SYS_sched_yield);
}

// A worker comes here with what a task has computed before StarPU tells of the task's
// end: from now on it waits for others.
void stop_executing() {
  if (LongestGap* const gap = LongestGap::of_this_thread(); gap != nullptr)
    gap->stops(now());
}

// StarPU-MPI's thread frees what a message held in a call of StarPU's that has returned,
// and may have nothing to tell the policy for long: others wait for that memory.
void end_pending_frees() {
  if (!HandleGate::frees_are_pending()) return;
  if (const std::shared_ptr<Session> session = Session::present())
    session->end_pending_frees();
}

int lock(pthread_mutex_t* mutex) {
  if (!takes_turns(mutex)) return pthread_mutex_lock(mutex);
  stop_executing();
  end_pending_frees();
  const int status = turns.lock(mutex, let_go_of_core);
  if (status == 0) ++holder.mutexes;
  return status;
}

int unlock(pthread_mutex_t* mutex) {
  const int status = pthread_mutex_unlock(mutex);
  // It may have been locked before this library was loaded.
  if (status == 0 && holder.mutexes > 0 && takes_turns(mutex)) --holder.mutexes;
  return status;
}

using Test = int(void* request, int* flag, void* status);

Test* mpi_test() {
  static Test* const test = reinterpret_cast<Test*>(dlsym(RTLD_DEFAULT, "MPI_Test"));
  return test;
}

int test(void* request, int* flag, void* status) {
  holder.looks = true;
  const int result = mpi_test()(request, flag, status);
  holder.looks = false;
  holder.idle_looks = *flag != 0 ? 0 : holder.idle_looks + 1;
  return result;
}

[[gnu::constructor]] void on_loading() { share_starpu_mpi_lock(); }

}  // namespace

void share_starpu_mpi_lock() {
  if (first_variable != nullptr) return;
  const Redirection redirections[] = {
      {"pthread_mutex_lock", reinterpret_cast<void*>(lock)},
      {"pthread_mutex_unlock", reinterpret_cast<void*>(unlock)},
      {"MPI_Test", reinterpret_cast<void*>(test)}};
  // MPI may be loaded for StarPU-MPI alone.
  const std::size_t count = mpi_test() != nullptr ? 3 : 2;
  const Variables found =
      redirect_calls("libstarpumpi", std::span(redirections).first(count));
  last_variable = found.last;
  first_variable = found.first;
}

}  // namespace espalier::policy

extern "C" ESPALIER_API int sched_yield(void) noexcept {
  espalier::policy::Holder& holder = espalier::policy::holder;
  if (holder.mutexes == 0 && !holder.looks)
    return static_cast<int>(syscall(SYS_sched_yield));
  holder.owes_core = true;
  return 0;
}
