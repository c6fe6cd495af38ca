#include "cli/job/watch.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <exception>
#include <utility>

#include "cli/job/last_words.h"
#include "cli/job/launcher_daemon.h"
#include "solver/distributed/mpi_calls.h"

namespace espalier::cli {

using solver::check_mpi;

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kAliveInterval = 0.25;  // seconds
constexpr auto kLookInterval = std::chrono::milliseconds(20);
constexpr double kLongestLook = 0.5;  // seconds between looks that count as silence
constexpr double kReportTime = 3;     // seconds for rank 0 to answer to a failure
constexpr double kEndTime = 2;        // seconds for the others to be told
constexpr int kInternal = 3;          // exit status

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

Watch::Watch(MPI_Comm parent, std::vector<std::string> hosts, double timeout_seconds)
    : hosts_(std::move(hosts)), timeout_seconds_(timeout_seconds), launcher_(getppid()) {
  check_mpi(MPI_Comm_dup(parent, &communicator_), "making a communicator");
  MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(communicator_, &rank_);
  const auto size = static_cast<std::int32_t>(hosts_.size());
  if (rank_ > 0) peers_.push_back({.rank = 0});
  for (std::int32_t rank = 1; rank_ == 0 && rank < size; ++rank)
    peers_.push_back({.rank = rank});
  // Signals are for the other threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread(&Watch::run, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_one();
  thread_.join();
  MPI_Comm_free(&communicator_);
}

void Watch::fail(int status, std::string_view message) {
  {
    const std::lock_guard lock(mutex_);
    if (!failed_) failed_ = failure(status, message);
  }
  changed_.notify_one();
  for (;;) pause();
}

std::string Watch::name(std::int32_t rank) const {
  return fmt::format("rank {} on {}", rank, hosts_[static_cast<std::size_t>(rank)]);
}

Watch::Word Watch::failure(int status, std::string_view message) const {
  Word word{.kind = Kind::kFailed, .status = status};
  const std::string text = fmt::format("{}: {}", name(rank_), message);
  text.copy(word.text.data(), word.text.size() - 1);
  return word;
}

Watch::Peer& Watch::peer(std::int32_t rank) {
  return peers_[rank_ == 0 ? static_cast<std::size_t>(rank - 1) : 0];
}

void Watch::run() {
  try {
    if (!peers_.empty()) listen();
    Clock::time_point last = Clock::now();
    while (!done()) {
      const double seconds = since(last);
      last = Clock::now();
      look(std::min(seconds, kLongestLook));
      wait_for_words();
    }
  } catch (const std::exception& error) {
    print_last_words(
        fmt::format("{}: watching the others: {}", name(rank_), error.what()));
    end_process(kInternal);
  }
}

void Watch::look(double seconds) {
  for (int heard = 0; hearing_ != MPI_REQUEST_NULL;) {
    MPI_Status status;
    check_mpi(MPI_Test(&hearing_, &heard, &status), "hearing");
    if (heard == 0) break;
    hear(heard_, status.MPI_SOURCE);
    if (!std::ranges::all_of(peers_, &Peer::left)) listen();
  }
  check_launcher();
  check_silence(seconds);
  until_alive_ -= seconds;
  if (until_alive_ <= 0) say_alive();
  if (reported_) *reported_ += seconds;
  obey_main();
}

void Watch::listen() {
  check_mpi(MPI_Irecv(&heard_, sizeof heard_, MPI_BYTE, MPI_ANY_SOURCE, 0, communicator_,
                      &hearing_),
            "listening");
}

void Watch::hear(const Word& word, std::int32_t from) {
  Peer& who = peer(from);
  who.silent_seconds = 0;
  switch (word.kind) {
    case Kind::kAlive:
      break;
    case Kind::kFailed:
      end_job(word);
    case Kind::kEnd:
      if (word.lost != 0) end_launcher_daemon();
      end_process(word.status);
    case Kind::kLeaving:
      who.left = true;
  }
}

void Watch::say(const Word& word, std::int32_t to) {
  Sent& sent = sent_.emplace_back(Sent{.word = word});
  const std::size_t length =
      offsetof(Word, text) + std::strlen(sent.word.text.data()) + 1;
  check_mpi(MPI_Isend(&sent.word, static_cast<int>(length), MPI_BYTE, to, 0,
                      communicator_, &sent.request),
            "speaking");
}

// A peer to which the last one has not gone yet is told no more: words would pile up.
void Watch::say_alive() {
  static const Word alive{};
  until_alive_ = kAliveInterval;
  for (Peer& each : peers_) {
    int said = 1;
    check_mpi(MPI_Test(&each.alive, &said, MPI_STATUS_IGNORE), "speaking");
    if (said == 0 || said_leaving_) continue;
    check_mpi(MPI_Isend(&alive, offsetof(Word, text) + 1, MPI_BYTE, each.rank, 0,
                        communicator_, &each.alive),
              "speaking");
  }
}

bool Watch::all_said() {
  std::erase_if(sent_, [](Sent& each) {
    int said = 0;
    check_mpi(MPI_Test(&each.request, &said, MPI_STATUS_IGNORE), "speaking");
    return said != 0;
  });
  return sent_.empty() && std::ranges::all_of(peers_, [](Peer& each) {
           int said = 0;
           check_mpi(MPI_Test(&each.alive, &said, MPI_STATUS_IGNORE), "speaking");
           return said != 0;
         });
}

void Watch::check_silence(double seconds) {
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
  Word word = failure(
      kInternal,
      fmt::format("no word from {}{} for {} seconds (ESPALIER_CLUSTER_TIMEOUT): the "
                  "host, the network or the process is down; ending the job",
                  name(first->rank), others, timeout_seconds_));
  word.lost = 1;
  end_job(word);
}

// Who started this process would end it with the job; another parent means that it
// cannot.
void Watch::check_launcher() {
  if (getppid() == launcher_ || launcher_ended_) return;
  launcher_ended_ = true;
  const std::lock_guard lock(mutex_);
  if (!failed_) failed_ = failure(kInternal, "the launcher of the job has ended");
}

void Watch::obey_main() {
  std::optional<Word> failed;
  bool leaving = false;
  {
    const std::lock_guard lock(mutex_);
    failed = failed_;
    leaving = leaving_;
  }
  if (failed && (rank_ == 0 || (reported_ && *reported_ > kReportTime))) end_job(*failed);
  if (failed && !reported_) {
    reported_ = 0;
    say(*failed, 0);
  }
  if (leaving && !said_leaving_) {
    said_leaving_ = true;
    for (const Peer& each : peers_) say({.kind = Kind::kLeaving}, each.rank);
  }
}

void Watch::wait_for_words() {
  std::unique_lock lock(mutex_);
  const bool failed = failed_.has_value(), leaving = leaving_;
  changed_.wait_for(lock, kLookInterval,
                    [&] { return failed_.has_value() != failed || leaving_ != leaving; });
}

bool Watch::done() {
  return said_leaving_ && std::ranges::all_of(peers_, &Peer::left) && all_said();
}

// At rank 0, and at one that rank 0 does not answer.
void Watch::end_job(const Word& failed) {
  print_last_words(failed.text.data());
  // Before the others end: the launcher may then end this process at once.
  if (failed.lost != 0) end_launcher_daemon();
  if (rank_ == 0) {
    for (const Peer& each : peers_)
      say({.kind = Kind::kEnd, .status = failed.status, .lost = failed.lost}, each.rank);
    const Clock::time_point start = Clock::now();
    while (!all_said() && since(start) < kEndTime)
      std::this_thread::sleep_for(kLookInterval);
    std::this_thread::sleep_for(kLookInterval * 5);  // on their way
  }
  end_process(failed.status);
}

}  // namespace espalier::cli
