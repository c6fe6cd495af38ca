#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "solver/distributed/peers.h"

namespace espalier::solver {

/// The processes that a ClusterSolver works on, as one of them sees them.
///
/// Collective calls are made by one thread of every process, in the same order. Between
/// two processes messages with one tag arrive in order; blocking, by any one thread at a
/// time: a send of more than a few KiB may wait for its receive. Any length, the same at
/// both ends. Tags from 0.
class Communicator : public Peers {
 public:
  // Collective.
  virtual void barrier() = 0;
  /// Of every process, by rank; everywhere.
  [[nodiscard]] virtual std::vector<std::int64_t> gather_all(std::int64_t value) = 0;
  [[nodiscard]] virtual std::vector<double> gather_all(double value) = 0;
  using Peers::sum;
  /// @throws OverflowError
  [[nodiscard]] std::int64_t sum(std::int64_t value);
  [[nodiscard]] std::int64_t largest(std::int64_t value);
  [[nodiscard]] double largest(double value);  ///< NaN where any is
  [[nodiscard]] std::int64_t smallest(std::int64_t value);

  /// This process cannot go on, and the others would wait for it: ends all of them. From
  /// any thread.
  /// @param status  1: the answer is no, 2: bad input, 3: internal
  [[noreturn]] virtual void fail(int status, std::string_view message) = 0;

  /// For StarPU-MPI, a MPI_Comm of its own.
  [[nodiscard]] virtual void* data_communicator() const = 0;
};

}  // namespace espalier::solver
