#include "cli/job/failure_detector.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <exception>
#include <utility>

#include "cli/job/exit_status.h"
#include "cli/job/last_words.h"
#include "cli/job/launch.h"
#include "cli/job/launcher_daemon.h"
#include "cli/job/patience.h"
#include "cli/job/quiet_thread.h"
#include "espalier/model/clock.h"
#include "solver/distributed/mpi_calls.h"

namespace espalier::cli {

using solver::check_mpi;

namespace {

constexpr double kAliveInterval = 0.25;  // seconds
constexpr auto kLookInterval = std::chrono::milliseconds(20);
constexpr double kReportTime = 3;  // seconds for rank 0 to answer to a failure
constexpr double kEndTime = 2;     // seconds for the others to be told

}  // namespace

FailureDetector::FailureDetector(MPI_Comm parent, std::vector<std::string> hosts,
                                 double timeout_seconds)
    : hosts_(std::move(hosts)), timeout_seconds_(timeout_seconds), launcher_(getppid()) {
  check_mpi(MPI_Comm_dup(parent, &communicator_), "making a communicator");
  MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(communicator_, &rank_);
  const auto size = static_cast<std::int32_t>(hosts_.size());
  if (rank_ > 0) peers_.push_back({.rank = 0});
  for (std::int32_t rank = 1; rank_ == 0 && rank < size; ++rank)
    peers_.push_back({.rank = rank});
  // Signals are for the other threads.
  thread_ = quiet_thread(&FailureDetector::run, this);
}

FailureDetector::~FailureDetector() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_one();
  thread_.join();
  MPI_Comm_free(&communicator_);
}

void FailureDetector::fail(int status, std::string_view message) {
  {
    const std::lock_guard lock(mutex_);
    if (!failed_) failed_ = failure(status, message);
  }
  changed_.notify_one();
  for (;;) pause();
}

std::string FailureDetector::name(std::int32_t rank) const {
  return fmt::format("rank {} on {}", rank, hosts_[static_cast<std::size_t>(rank)]);
}

FailureDetector::Heartbeat FailureDetector::failure(int status,
                                                    std::string_view message) const {
  Heartbeat heartbeat{.kind = Kind::kFailed, .status = status};
  const std::string text = fmt::format("{}: {}", name(rank_), message);
  text.copy(heartbeat.text.data(), heartbeat.text.size() - 1);
  return heartbeat;
}

FailureDetector::Peer& FailureDetector::peer(std::int32_t rank) {
  return peers_[rank_ == 0 ? static_cast<std::size_t>(rank - 1) : 0];
}

void FailureDetector::run() {
  try {
    if (!peers_.empty()) post_receive();
    Clock::time_point last = Clock::now();
    while (!done()) {
      const double seconds = since(last);
      last = Clock::now();
      look(std::min(seconds, kLongestLook));
      wait_for_change();
    }
  } catch (const std::exception& error) {
    print_last_words(
        fmt::format("{}: watching the others: {}", name(rank_), error.what()));
    end_process(kInternal);
  }
}

void FailureDetector::look(double seconds) {
  for (int received = 0; receiving_ != MPI_REQUEST_NULL;) {
    MPI_Status status;
    check_mpi(MPI_Test(&receiving_, &received, &status), "receiving a heartbeat");
    if (received == 0) break;
    receive(received_, status.MPI_SOURCE);
    if (!std::ranges::all_of(peers_, &Peer::left)) post_receive();
  }
  check_launcher();
  check_silence(seconds);
  until_alive_ -= seconds;
  if (until_alive_ <= 0) send_alive();
  if (reported_) *reported_ += seconds;
  obey_main();
}

void FailureDetector::post_receive() {
  check_mpi(MPI_Irecv(&received_, sizeof received_, MPI_BYTE, MPI_ANY_SOURCE, 0,
                      communicator_, &receiving_),
            "receiving a heartbeat");
}

void FailureDetector::receive(const Heartbeat& heartbeat, std::int32_t from) {
  Peer& who = peer(from);
  who.silent_seconds = 0;
  switch (heartbeat.kind) {
    case Kind::kAlive:
      break;
    case Kind::kFailed:
      end_job(heartbeat);
    case Kind::kEnd:
      if (heartbeat.lost != 0) end_launcher_daemon(launch());
      end_process(heartbeat.status);
    case Kind::kLeaving:
      who.left = true;
  }
}

void FailureDetector::send(const Heartbeat& heartbeat, std::int32_t to) {
  Sent& sent = sent_.emplace_back(Sent{.heartbeat = heartbeat});
  const std::size_t length =
      offsetof(Heartbeat, text) + std::strlen(sent.heartbeat.text.data()) + 1;
  check_mpi(MPI_Isend(&sent.heartbeat, static_cast<int>(length), MPI_BYTE, to, 0,
                      communicator_, &sent.request),
            "sending a heartbeat");
}

// A peer to which the last one has not gone yet is told no more: heartbeats would pile
// up.
void FailureDetector::send_alive() {
  static const Heartbeat alive{};
  until_alive_ = kAliveInterval;
  for (Peer& each : peers_) {
    int sent = 1;
    check_mpi(MPI_Test(&each.alive, &sent, MPI_STATUS_IGNORE), "sending a heartbeat");
    if (sent == 0 || sent_leaving_) continue;
    check_mpi(MPI_Isend(&alive, offsetof(Heartbeat, text) + 1, MPI_BYTE, each.rank, 0,
                        communicator_, &each.alive),
              "sending a heartbeat");
  }
}

bool FailureDetector::all_sent() {
  std::erase_if(sent_, [](Sent& each) {
    int sent = 0;
    check_mpi(MPI_Test(&each.request, &sent, MPI_STATUS_IGNORE), "sending a heartbeat");
    return sent != 0;
  });
  return sent_.empty() && std::ranges::all_of(peers_, [](Peer& each) {
           int sent = 0;
           check_mpi(MPI_Test(&each.alive, &sent, MPI_STATUS_IGNORE),
                     "sending a heartbeat");
           return sent != 0;
         });
}

void FailureDetector::check_silence(double seconds) {
  std::int32_t lost = 0;
  const Peer* first = nullptr;
  for (Peer& each : peers_) {
    if (each.left) continue;
    each.silent_seconds += seconds;
    if (each.silent_seconds < timeout_seconds_) continue;
    if (lost++ == 0) first = &each;
  }
  if (lost == 0) return;
  const std::string others =
      lost == 1 ? "" : fmt::format(" (and from {} others)", lost - 1);
  Heartbeat heartbeat = failure(
      kInternal,
      fmt::format("no word from {}{} for {} seconds (ESPALIER_CLUSTER_TIMEOUT): the "
                  "host, the network or the process is down; ending the job",
                  name(first->rank), others, timeout_seconds_));
  heartbeat.lost = 1;
  end_job(heartbeat);
}

// Who started this process would end it with the job; another parent means that it
// cannot.
void FailureDetector::check_launcher() {
  if (getppid() == launcher_ || launcher_ended_) return;
  launcher_ended_ = true;
  const std::lock_guard lock(mutex_);
  if (!failed_) failed_ = failure(kInternal, "the launcher of the job has ended");
}

void FailureDetector::obey_main() {
  std::optional<Heartbeat> failed;
  bool leaving = false;
  {
    const std::lock_guard lock(mutex_);
    failed = failed_;
    leaving = leaving_;
  }
  if (failed && (rank_ == 0 || (reported_ && *reported_ > kReportTime))) end_job(*failed);
  if (failed && !reported_) {
    reported_ = 0;
    send(*failed, 0);
  }
  if (leaving && !sent_leaving_) {
    sent_leaving_ = true;
    for (const Peer& each : peers_) send({.kind = Kind::kLeaving}, each.rank);
  }
}

void FailureDetector::wait_for_change() {
  std::unique_lock lock(mutex_);
  const bool failed = failed_.has_value(), leaving = leaving_;
  changed_.wait_for(lock, kLookInterval,
                    [&] { return failed_.has_value() != failed || leaving_ != leaving; });
}

bool FailureDetector::done() {
  return sent_leaving_ && std::ranges::all_of(peers_, &Peer::left) && all_sent();
}

// At rank 0, and at one that rank 0 does not answer.
void FailureDetector::end_job(const Heartbeat& failed) {
  print_last_words(failed.text.data());
  // Before the others end: the launcher may then end this process at once.
  if (failed.lost != 0) end_launcher_daemon(launch());
  if (rank_ == 0) {
    for (const Peer& each : peers_)
      send({.kind = Kind::kEnd, .status = failed.status, .lost = failed.lost}, each.rank);
    const Clock::time_point start = Clock::now();
    while (!all_sent() && since(start) < kEndTime)
      std::this_thread::sleep_for(kLookInterval);
    std::this_thread::sleep_for(kLookInterval * 5);  // on their way
  }
  end_process(failed.status);
}

}  // namespace espalier::cli
