#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace espalier::cli {

/// A thread to which no signal is delivered: signals are for the others.
template <class... Arguments>
[[nodiscard]] std::thread quiet_thread(Arguments&&... arguments) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::forward<Arguments>(arguments)...);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace espalier::cli
