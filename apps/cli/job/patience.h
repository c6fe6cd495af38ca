#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "cli/job/launch.h"

namespace espalier::cli {

/// Seconds between two looks that count as waiting: after more, this process itself stood
/// still.
inline constexpr double kLongestLook = 0.5;

/// Ends this process, with status 3 and one message, where something that it does
/// together with all others is not done in time: starting and ending MPI, before and
/// after there is a FailureDetector. A process that was stopped, or that died without its
/// launcher's notice, would keep the others waiting for ever. The launcher then ends the
/// others.
///
/// Time in which this process itself did not run, because the job was stopped for a
/// while, does not count. The processes with small ranks lose patience first, a second
/// apart, so that one of them speaks.
class Patience {
 public:
  /// @param what     is to be done: "started MPI"
  /// @param seconds  0: any time, and no thread
  Patience(std::string what, double seconds);
  /// It is done.
  ~Patience();
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

 private:
  void wait();
  [[noreturn]] void lose();

  std::string what_;
  double seconds_;
  Launch launch_;  // read beforehand: MPI changes the environment while it starts
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

/// Of all processes of a job together, where one is given `timeout` seconds to say a
/// word: longer, since a launcher may take its time from host to host.
[[nodiscard]] double patience_with_all(double timeout_seconds);

}  // namespace espalier::cli
