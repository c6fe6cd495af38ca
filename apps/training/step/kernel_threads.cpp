#include "training/step/kernel_threads.h"

#include <omp.h>
#include <sched.h>
#include <unistd.h>

namespace espalier::training {

void use_threads(std::int32_t threads) noexcept {
  thread_local std::int32_t used = 0;
  if (used == threads) return;
  used = threads;
  omp_set_num_threads(threads);
  if (threads == 1) return;
  cpu_set_t all;  // of the process's first thread, which StarPU does not bind
  if (sched_getaffinity(getpid(), sizeof all, &all) == 0)
    sched_setaffinity(0, sizeof all, &all);
}

}  // namespace espalier::training
