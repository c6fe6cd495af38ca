#pragma once

#include <cstdint>
#include <functional>

#include "peer_run.h"

namespace espalier::bench {

/// The processes of one run. peer_processes_mpi.cpp has those of MPI,
/// peer_processes_one.cpp the only one there is with a sequential library.
class Processes {
 public:
  Processes(int& argc, char**& argv);
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  void wait_for_all() const;
  /// Ends all processes, which would wait for this one for ever, if there are others.
  void give_up(int status) const;
  /// Collective; the result is every process's.
  [[nodiscard]] std::int64_t largest(std::int64_t value) const;
  [[nodiscard]] std::int64_t sum(std::int64_t value) const;

 private:
  int rank_ = 0, size_ = 1;
};

/// peer_main() of a peer that may have several, of which the first prints.
inline int peer_main_of_processes(
    int argc, char** argv,
    const std::function<PeerResult(const PeerOptions&, const Processes&)>& solve) {
  Processes processes(argc, argv);
  const int status = peer_main(
      argc, argv, [&](const PeerOptions& options) { return solve(options, processes); },
      processes.rank() == 0);
  if (status > 1) processes.give_up(status);
  return status;
}

}  // namespace espalier::bench
