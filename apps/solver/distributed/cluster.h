#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/model/units.h"

namespace espalier::solver {

/// The processes of a job that mpirun or srun started, as this one sees them.
///
/// Collective calls are made by one thread of every process, in the same order. Who waits
/// in one sleeps between looks: cores are left to those who compute.
///
/// A process that ends, is killed, loses the network or calls fail() ends the job: every
/// other process ends within seconds with a status that is not 0, and one message is
/// printed.
class Cluster {
 public:
  /// Whether a launcher of MPI jobs started this process, with how many others; asks the
  /// environment only. 0: none did.
  [[nodiscard]] static std::int32_t launched_processes();

  /// Starts MPI and the watch over the others, and compares with them `identity`: what
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
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  [[nodiscard]] std::int32_t rank() const;
  [[nodiscard]] std::int32_t size() const;

  // Collective.
  void barrier();
  void broadcast(std::span<std::byte> bytes, std::int32_t root = 0);
  /// Sum over processes, in place, the same bits everywhere.
  void sum(std::span<double> values);
  [[nodiscard]] std::int64_t sum(std::int64_t value);
  [[nodiscard]] std::int64_t largest(std::int64_t value);
  [[nodiscard]] double largest(double value);
  [[nodiscard]] std::int64_t smallest(std::int64_t value);
  /// Of every process, by rank; everywhere.
  [[nodiscard]] std::vector<std::int64_t> gather_all(std::int64_t value);
  /// Of every process, by rank; at rank 0, empty elsewhere.
  [[nodiscard]] std::vector<std::string> gather(std::string_view text);

  // Between two different processes; messages of a pair with one tag arrive in order.
  // Blocking, by any one thread at a time: a send of more than a few KiB waits for its
  // receive. Any length, the same at both ends. Tags from 0.
  void send(std::span<const std::byte> bytes, std::int32_t to, std::int32_t tag);
  void receive(std::span<std::byte> bytes, std::int32_t from, std::int32_t tag);

  /// Ends the job: prints the message once for all processes and ends every process with
  /// the status (1: the answer is no, 2: bad input, 3: internal). The first call wins;
  /// from any thread. Line: "espalier: rank 2 on host: message", 2900 bytes at most.
  [[noreturn]] void fail(int status, std::string_view message);

  /// The communicator for StarPU-MPI, a MPI_Comm.
  [[nodiscard]] void* data_communicator() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace espalier::solver
