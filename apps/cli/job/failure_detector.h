#pragma once

#include <mpi.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace espalier::cli {

/// Sees to it that all processes of a job end when one of them cannot go on.
///
/// A thread in each process, the only one that uses the communicator, exchanges a
/// heartbeat with rank 0 every quarter of a second, whatever the other threads do:
///
///     alive    both ways; none from a process for `timeout` seconds: it is lost
///     failed   to rank 0, with a status and a message; rank 0 prints the first it gets
///     end      from rank 0: end at once, with the status
///     leaving  both ways, the last heartbeat of a process that comes to the end of the
///     job
///
/// Time in which this thread itself did not run, because the job was stopped for a while,
/// does not count as silence. Cost: a few microseconds fifty times a second, and one
/// message a quarter of a second to and from each process at rank 0.
class FailureDetector {
 public:
  /// Collective.
  /// @param hosts of every process, by rank
  FailureDetector(MPI_Comm parent, std::vector<std::string> hosts,
                  double timeout_seconds);
  FailureDetector(const FailureDetector&) = delete;
  FailureDetector& operator=(const FailureDetector&) = delete;
  /// Collective, when all processes have come to the end of the job.
  ~FailureDetector();

  /// As Cluster::fail(); from any thread.
  [[noreturn]] void fail(int status, std::string_view message);

 private:
  enum class Kind : std::int32_t { kAlive, kFailed, kEnd, kLeaving };
  struct Heartbeat {
    Kind kind = Kind::kAlive;
    std::int32_t status = 0;
    std::int32_t lost = 0;          // 1: because a process does not answer
    std::array<char, 3000> text{};  // to the first null
  };
  struct Peer {
    std::int32_t rank = 0;
    double silent_seconds = 0;
    bool left = false;
    MPI_Request alive = MPI_REQUEST_NULL;  // the last "alive" sent
  };
  struct Sent {
    Heartbeat heartbeat;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void run();
  void look(double seconds);
  void post_receive();
  void receive(const Heartbeat& heartbeat, std::int32_t from);
  void send(const Heartbeat& heartbeat, std::int32_t to);
  void send_alive();
  [[nodiscard]] bool all_sent();
  void check_launcher();
  void check_silence(double seconds);
  void obey_main();
  void wait_for_change();
  [[nodiscard]] bool done();
  [[noreturn]] void end_job(const Heartbeat& failure);
  [[nodiscard]] std::string name(std::int32_t rank) const;
  [[nodiscard]] Heartbeat failure(int status, std::string_view message) const;
  [[nodiscard]] Peer& peer(std::int32_t rank);

  MPI_Comm communicator_ = MPI_COMM_NULL;
  std::int32_t rank_ = 0;
  std::vector<std::string> hosts_;
  double timeout_seconds_;
  std::int32_t launcher_;  // process id

  // Of the thread.
  std::vector<Peer> peers_;
  std::list<Sent> sent_;
  Heartbeat received_;
  MPI_Request receiving_ = MPI_REQUEST_NULL;
  double until_alive_ = 0;
  std::optional<double> reported_;  // seconds since rank 0 was told of a failure
  bool sent_leaving_ = false;
  bool launcher_ended_ = false;

  // From other threads to it.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Heartbeat> failed_;
  bool leaving_ = false;

  std::thread thread_;
};

}  // namespace espalier::cli
