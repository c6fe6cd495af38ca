#include "espalier/machine/thread_room.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>

#include <string>
#include <vector>

#include "espalier/model/error.h"

namespace espalier {
namespace {

// Held by who starts the threads; each ends once it has it.
extern "C" void* wait_at_gate(void* gate) {
  auto* const mutex = static_cast<pthread_mutex_t*>(gate);
  pthread_mutex_lock(mutex);
  pthread_mutex_unlock(mutex);
  return nullptr;
}

std::string limit_of_threads() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return fmt::format(" (ulimit -u: {} of the user; a control group may allow fewer)",
                     limit.rlim_cur);
}

}  // namespace

void check_thread_room(std::int32_t threads) {
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
  std::vector<pthread_t> started(static_cast<std::size_t>(threads));
  pthread_mutex_lock(&gate);
  std::int32_t count = 0;
  int error = 0;
  for (pthread_t& thread : started) {
    error = pthread_create(&thread, nullptr, wait_at_gate, &gate);
    if (error != 0) break;
    ++count;
  }
  pthread_mutex_unlock(&gate);
  for (std::int32_t k = 0; k < count; ++k)
    pthread_join(started[static_cast<std::size_t>(k)], nullptr);
  if (error != 0)
    throw Error(fmt::format("the system gives {} new thread{}, and {} {} needed: {}{}",
                            count, count == 1 ? "" : "s", threads,
                            threads == 1 ? "is" : "are", system_text(error),
                            limit_of_threads()));
}

}  // namespace espalier
