#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "espalier/model/clock.h"
#include "peer_matrix.h"

namespace espalier::bench {

/// What every peer is asked for on its command line:
///   PEER INPUT --kind spd|symmetric|general --threads N
struct PeerOptions {
  std::string input, kind = "spd", ordering = "given", out_of_core;
  /// small: what is freed leaves the resident set, so that growth is what is needed;
  /// default: the allocator as users have it, for times.
  std::string heap = "small";
  int threads = 1;
  std::int32_t memory_mib = 0;  ///< bound on working memory of a process; 0: none
  std::int32_t relax = 0;       ///< MUMPS: per cent added to its workspace; 0: default
  int repeat = 1;  ///< times that a system of less than a millisecond is solved
};

/// What every peer prints, as one JSON object. Times of a run over several processes are
/// the first's; sizes are of the process that has most, and of all.
struct PeerResult {
  std::string failure;  ///< the library's own code, such as "-9"; empty: solved
  double ordering_seconds = 0, analyse_seconds = 0, factor_seconds = 0, solve_seconds = 0;
  /// Of all threads, from the start of the analysis to the solution, refined if it is.
  double processor_seconds = 0;
  double solution_seconds = 0;  ///< the same by the clock
  /// Of the first time, whose program has yet to come into memory.
  double first_processor_seconds = 0;
  double refine_seconds = 0;  ///< what the library's own refinement adds to the solve
  std::int64_t factor_rss_bytes = 0;      ///< growth of VmHWM while factorising
  std::int64_t factor_rss_sum_bytes = 0;  ///< the same of all processes
  std::int64_t counted_peak_bytes = 0;    ///< as the library counts its own arrays
  std::int64_t bytes_written = 0;         ///< while factorising
  double factor_flops = 0;                ///< as the library counts them
  double backward_error = 0;              ///< after refinement, where there is one
  std::string note;  ///< where the library did not do quite what it was asked
};

/// Processor time of this process, all threads, and time by the clock, while it runs.
class RunTimer {
 public:
  void resume();
  void pause();
  /// @pre it is paused
  void write(PeerResult& result) const;

 private:
  double processor_ = 0, clock_ = 0;
  double since_ = 0;
  Clock::time_point start_;
};

/// Sets the threads of a BLAS that is OpenBLAS; does nothing to any other.
void set_blas_threads(int threads);

/// Time, growth of the resident set and bytes written of one call, in this process.
struct Measured {
  double seconds = 0;
  std::int64_t growth = 0, written = 0;
};
/// With a small heap what is freed is given back beforehand, so that growth is what the
/// call needs; else a call finds what those before it left, as it does at its users'.
/// @param timer  runs before and afterwards; of what measures memory it counts nothing
[[nodiscard]] Measured measure(const PeerOptions& options, RunTimer& timer,
                               const std::function<void()>& call);

/// Parses the command line, runs `solve` and prints its result, unless another process
/// prints it.
/// @return the exit status: 0 solved, 1 failed with a code, 2 bad usage or input
int peer_main(int argc, char** argv, const std::function<PeerResult(PeerOptions)>& solve,
              bool prints = true);

}  // namespace espalier::bench
