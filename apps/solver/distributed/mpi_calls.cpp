#include "solver/distributed/mpi_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "espalier/model/clock.h"
#include "espalier/model/error.h"

namespace espalier::solver {

void check_mpi(int status, std::string_view what) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  throw Error(
      fmt::format("{}: {}", what, std::string_view(text.data(), std::size_t(length))));
}

void Pause::operator()() {
  constexpr std::int64_t kLooks = 100;  // tens of microseconds
  constexpr double kLeast = 20, kMost = 1000, kShare = 0.125;
  if (++looks_ <= kLooks) {
    std::this_thread::yield();
    return;
  }
  const double time = std::clamp(kShare * slept_microseconds_, kLeast, kMost);
  std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(time));
  slept_microseconds_ += time;
}

// A look that takes long has moved a part of a message, and there may be more; or it was
// held up by others, so that a pause must come at last.
MPI_Status wait(MPI_Request& request) {
  constexpr auto kMoved = std::chrono::microseconds(10);
  constexpr int kMostMoved = 32;
  MPI_Status status;
  Pause pause;
  for (int done = 0, moved = 0;;) {
    const Clock::time_point start = Clock::now();
    check_mpi(MPI_Test(&request, &done, &status), "waiting for another process");
    if (done != 0) return status;
    if (Clock::now() - start < kMoved || ++moved % kMostMoved == 0) pause();
  }
}

}  // namespace espalier::solver
