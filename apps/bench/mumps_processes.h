#pragma once

#include <cstdint>

namespace espalier::bench {

/// The processes of one MUMPS run. mumps_processes_mpi.cpp has those of MPI,
/// mumps_processes_one.cpp the only one there is with the sequential library.
class Processes {
 public:
  Processes(int& argc, char**& argv);
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  void wait_for_all() const;
  /// Ends all processes, which would wait for this one for ever, if there are others.
  void give_up(int status) const;
  /// Collective; the result is every process's.
  [[nodiscard]] std::int64_t largest(std::int64_t value) const;
  [[nodiscard]] std::int64_t sum(std::int64_t value) const;

 private:
  int rank_ = 0;
};

}  // namespace espalier::bench
