#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/model/units.h"
#include "solver/distributed/communicator.h"

namespace espalier::cli {

/// Memory of MPI and StarPU-MPI that comes with the first messages, in each process.
inline constexpr Bytes kMessagesReserve = Bytes{4} << 20;

/// The processes of a job that mpirun or srun started, as this one sees them.
///
/// Collective calls are made by one thread of every process, in the same order. Who waits
/// in one sleeps between looks: cores are left to those who compute.
///
/// A process that ends, is killed, loses the network or calls fail() ends the job: every
/// other process ends within seconds with a status that is not 0, and one message is
/// printed.
class Cluster : public solver::Communicator {
 public:
  /// Whether a launcher of MPI jobs started this process, with how many others; asks the
  /// environment only. 0: none did.
  [[nodiscard]] static std::int32_t launched_processes();

  /// Starts MPI and the FailureDetector, and compares with them `identity`: what
  /// must be the same everywhere, as "name=value" lines (version, precision, …). Where it
  /// differs the job ends as by fail(2, …), with the ranks, their hosts and the line.
  /// Processes that share cores divide them here (cores.h): how many workers there may be
  /// is known after that, and StarPU starts later.
  /// @throws InvalidInput for a bad ESPALIER_CLUSTER_TIMEOUT, Error when MPI does not
  ///         start
  Cluster(int& argc, char**& argv, std::string_view identity);
  /// Collective. Ends MPI. By an exception, or by exit() without it, a process leaves the
  /// others behind: that ends the job, too, but what went wrong is not known here. Catch
  /// it and call fail().
  ~Cluster() override;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  [[nodiscard]] std::int32_t rank() const override;
  [[nodiscard]] std::int32_t size() const override;
  void barrier() override;
  void broadcast(std::span<std::byte> bytes, std::int32_t root = 0) override;
  using Communicator::sum;
  void sum(std::span<double> values) override;
  [[nodiscard]] std::vector<std::int64_t> gather_all(std::int64_t value) override;
  [[nodiscard]] std::vector<double> gather_all(double value) override;
  /// The least part, over the processes, of what those of a host divide evenly; the same
  /// at each. Collective.
  [[nodiscard]] std::int64_t smallest_share(std::int64_t of_host);
  /// Of every process, by rank; at rank 0, empty elsewhere. Collective.
  [[nodiscard]] std::vector<std::string> gather(std::string_view text);
  void send(std::span<const std::byte> bytes, std::int32_t to, std::int32_t tag) override;
  void receive(std::span<std::byte> bytes, std::int32_t from, std::int32_t tag) override;

  /// Ends the job: prints the message once for all processes and ends every process with
  /// the status (1: the answer is no, 2: bad input, 3: internal). The first call wins;
  /// from any thread. Line: "espalier: rank 2 on host: message", 2900 bytes at most.
  [[noreturn]] void fail(int status, std::string_view message) override;

  [[nodiscard]] std::unique_ptr<solver::Channel> open_channel(
      std::function<void()> failed) override;
  /// For StarPU-MPI: an MPI_Comm of its own.
  [[nodiscard]] void* data_communicator() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace espalier::cli
