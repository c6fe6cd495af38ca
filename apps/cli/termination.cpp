#include "cli/termination.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

#include "cli/output.h"
#include "espalier/io/output_file.h"

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

// Of the process, as the signal is.
struct ClosingWords {
  std::mutex mutex;
  std::function<std::string()> text;
};
ClosingWords& words() {
  static auto* const all =
      new ClosingWords;  // the thread that waits outlives what is static
  return *all;
}

void wait_for_termination() {
  const sigset_t set = termination();
  int signal = 0;
  if (sigwait(&set, &signal) != 0) return;
  // Held to the end, so that the message is the last.
  const std::scoped_lock lock(words().mutex);
  if (words().text) {
    const char* const clear = isatty(STDERR_FILENO) != 0 ? "\r\033[K" : "";  // progress
    std::fputs(clear, stderr);
    note(words().text());
  }
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
  // StarPU's own handler of SIGINT raises it again, for ever where one was set before.
  setenv("STARPU_CATCH_SIGNALS", "0", 1);
  std::signal(SIGXFSZ, SIG_IGN);  // the write fails, and who wrote says so
  for (const int signal : {SIGINT, SIGHUP}) end_without_files(signal);
  std::thread(wait_for_termination).detach();
}

TerminationMessage::TerminationMessage(std::function<std::string()> text) {
  const std::scoped_lock lock(words().mutex);
  words().text = std::move(text);
}

TerminationMessage::~TerminationMessage() {
  const std::scoped_lock lock(words().mutex);
  words().text = nullptr;
}

}  // namespace espalier::cli
