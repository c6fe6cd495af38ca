#include "cli/termination.h"

#include <pthread.h>

#include <csignal>
#include <thread>

#include "espalier/model/output_file.h"

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
  remove_unfinished_files();
  std::signal(SIGTERM, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  raise(SIGTERM);
}

extern "C" void remove_and_end(int signal) {
  remove_unfinished_files();
  raise(signal);  // SA_RESETHAND: it ends the program
}

void end_without_files(int signal) {
  struct sigaction before {
  }, action{};
  if (sigaction(signal, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) return;
  action.sa_handler = remove_and_end;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  sigaction(signal, &action, nullptr);
}

}  // namespace

void end_by_termination_signal() {
  for (const int signal : {SIGINT, SIGHUP}) end_without_files(signal);
  std::thread(wait_for_termination).detach();
}

}  // namespace espalier::cli
