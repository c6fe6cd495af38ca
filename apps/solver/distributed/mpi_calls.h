#pragma once

#include <mpi.h>

#include <cstdint>
#include <string_view>

namespace espalier::solver {

/// @throws Error that says what could not be done, and why, in the words of MPI
void check_mpi(int status, std::string_view what);

/// Waits between looks at something that another process does: at first for no longer
/// than it takes to look, then for a share of the time waited so far, so that a wait is
/// at most a few per cent longer than it need be, and never for more than a millisecond.
class Pause {
 public:
  void operator()();

 private:
  std::int64_t looks_ = 0;
  double slept_microseconds_ = 0;
};

/// Returns when the operation is complete. Asleep for most of the time, where MPI_Wait
/// would keep a core busy.
/// @return how it ended
MPI_Status wait(MPI_Request& request);

}  // namespace espalier::solver
