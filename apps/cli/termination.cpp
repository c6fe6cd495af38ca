#include "cli/termination.h"

#include <pthread.h>

#include <csignal>
#include <thread>

namespace espalier::cli {
namespace {

sigset_t termination() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  return set;
}

// Threads inherit what is blocked, and OpenBLAS starts its threads before main().
void block_termination(int /*argc*/, char** /*argv*/, char** /*environment*/) {
  const sigset_t set = termination();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

[[gnu::section(".preinit_array"),
  gnu::used]] void (*const before_libraries)(int, char**, char**) = block_termination;

void wait_for_termination() {
  const sigset_t set = termination();
  int signal = 0;
  if (sigwait(&set, &signal) != 0) return;
  std::signal(SIGTERM, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  raise(SIGTERM);
}

}  // namespace

void end_by_termination_signal() { std::thread(wait_for_termination).detach(); }

}  // namespace espalier::cli
