#include "cli/job/patience.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "cli/job/exit_status.h"
#include "cli/job/last_words.h"
#include "cli/job/launcher_daemon.h"
#include "cli/job/quiet_thread.h"
#include "espalier/model/clock.h"

namespace espalier::cli {
namespace {

constexpr auto kLook = std::chrono::milliseconds(100);
constexpr double kTimes = 3;
constexpr double kApart = 2;  // seconds between ranks, the first few
constexpr std::int32_t kRanksApart = 3;

}  // namespace

double patience_with_all(double timeout_seconds) { return kTimes * timeout_seconds; }

Patience::Patience(std::string what, double seconds)
    : what_(std::move(what)), seconds_(seconds), launch_(launch()) {
  if (seconds <= 0) return;
  // Signals are for the other threads.
  thread_ = quiet_thread(&Patience::wait, this);
}

Patience::~Patience() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Patience::wait() {
  const double most = seconds_ + kApart * std::min(launch_.rank, kRanksApart);
  double waited = 0;
  Clock::time_point last = Clock::now();
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kLook, [&] { return done_; })) {
    const Clock::time_point now = Clock::now();
    waited += std::min(std::chrono::duration<double>(now - last).count(), kLongestLook);
    last = now;
    if (waited >= most) lose();
  }
}

void Patience::lose() {
  print_last_words(
      fmt::format("rank {}: not all processes of the job have {} within {} seconds "
                  "(ESPALIER_CLUSTER_TIMEOUT, {} times): one of them is stopped, or a "
                  "host or the network is down; ending the job",
                  launch_.rank, what_, seconds_, kTimes));
  end_launcher_daemon(launch_);
  end_process(kInternal);
}

}  // namespace espalier::cli
