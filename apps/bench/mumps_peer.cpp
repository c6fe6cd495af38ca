// MUMPS, for comparison: a program of its own, so that its memory is its own. Never part
// of the product. The same source makes mumps_peer, one process with a threaded BLAS, and
// mumps_mpi_peer, to be started by mpirun.

#include <dmumps_c.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "peer_matrix.h"
#include "peer_processes.h"
#include "peer_run.h"

namespace {

using namespace espalier::bench;
using espalier::Clock;
using espalier::since;

constexpr int kUseWorld = -987654;  // MUMPS's code for the communicator of all
constexpr int kRefinements = 2;     // as many as UMFPACK makes unless told otherwise

/// One MUMPS instance; its arrays are counted from 1 in the manual, and so here.
struct Mumps {
  DMUMPS_STRUC_C id{};
  std::vector<int> row, column, position;

  Mumps(const std::string& kind, int rank) {
    id.sym = kind == "spd" ? 1 : kind == "symmetric" ? 2 : 0;
    id.par = 1;
    id.comm_fortran = kUseWorld;
    run(-1);
    for (int i = 1; i <= 4; ++i) icntl(i) = i == 4 ? 0 : -1;  // silent
    is_host_ = rank == 0;
  }
  Mumps(const Mumps&) = delete;
  Mumps& operator=(const Mumps&) = delete;
  ~Mumps() { run(-2); }

  int& icntl(int i) { return id.icntl[i - 1]; }
  [[nodiscard]] int infog(int i) const { return id.infog[i - 1]; }
  void run(int job) {
    id.job = job;
    dmumps_c(&id);
  }
  /// INFOG(1) as text where it says that the last job failed; else empty.
  [[nodiscard]] std::string failure() const {
    return infog(1) < 0 ? std::to_string(infog(1)) : "";
  }

  // The host alone has the matrix.
  void take(PeerMatrix& matrix) {
    if (!is_host_) return;
    id.n = matrix.size;
    id.nnz = static_cast<MUMPS_INT8>(matrix.row.size());
    row.reserve(matrix.row.size());
    column.reserve(matrix.row.size());
    for (std::int32_t j = 0; j < matrix.size; ++j)
      for (auto k = matrix.column_start[j]; k < matrix.column_start[j + 1]; ++k) {
        row.push_back(matrix.row[k] + 1);
        column.push_back(j + 1);
      }
    id.irn = row.data();
    id.jcn = column.data();
    id.a = matrix.value.data();
  }
  void take_ordering(const std::vector<std::int32_t>& ordering) {
    icntl(7) = 1;
    if (!is_host_) return;
    position.resize(ordering.size());
    for (std::size_t k = 0; k < ordering.size(); ++k)
      position[ordering[k]] = static_cast<int>(k) + 1;
    id.perm_in = position.data();
  }
  void take_limits(const PeerOptions& options) {
    if (options.relax != 0) icntl(14) = options.relax;
    icntl(23) = options.memory_mib;
    if (options.out_of_core.empty()) return;
    if (options.out_of_core.size() >= sizeof id.ooc_tmpdir)
      throw std::invalid_argument("MUMPS: --out-of-core is too long");
    icntl(22) = 1;
    std::strcpy(id.ooc_tmpdir, options.out_of_core.c_str());
  }

 private:
  bool is_host_ = false;
};

void factor(Mumps& mumps, const Processes& processes, const PeerOptions& options,
            RunTimer& timer, PeerResult& result) {
  processes.wait_for_all();
  const Measured run = measure(options, timer, [&] { mumps.run(2); });
  result.factor_seconds = run.seconds;
  result.factor_rss_bytes = processes.largest(run.growth);
  result.factor_rss_sum_bytes = processes.sum(run.growth);
  result.bytes_written = processes.sum(run.written);
  result.factor_flops = mumps.id.rinfog[2];
}

// Seconds of a solve in place, with at most so many corrections by MUMPS itself.
double solve_once(Mumps& mumps, std::vector<double>& x, int refinements) {
  mumps.icntl(10) = refinements;
  mumps.id.rhs = x.data();
  const auto start = Clock::now();
  mumps.run(3);
  return since(start);
}

PeerResult solve(const PeerOptions& options, const Processes& processes) {
  const bool host = processes.rank() == 0;
  PeerMatrix matrix;
  if (host) matrix = read_input(options.input);
  if (host && options.kind != "general" && !matrix.symmetric)
    throw std::invalid_argument("MUMPS: not symmetric");
  PeerMatrix entries = host && options.kind == "general" ? expand(matrix) : PeerMatrix{};
  set_blas_threads(options.threads);

  PeerResult result;
  Mumps mumps(options.kind, processes.rank());
  mumps.take(options.kind == "general" ? entries : matrix);
  const auto start = Clock::now();
  RunTimer timer;
  timer.resume();
  if (options.ordering == "given")
    mumps.take_ordering(host ? metis_ordering(matrix) : std::vector<std::int32_t>{});
  result.ordering_seconds = since(start);
  mumps.take_limits(options);
  mumps.run(1);
  result.analyse_seconds = since(start);
  if (result.failure = mumps.failure(); !result.failure.empty()) return result;
  factor(mumps, processes, options, timer, result);
  if (result.failure = mumps.failure(); !result.failure.empty()) return result;
  result.counted_peak_bytes = mumps.infog(21) * std::int64_t{1'000'000};
  result.note = "delayed pivots " + std::to_string(mumps.infog(13));

  timer.pause();
  const std::vector<double> b = host ? apply_to_ones(matrix) : std::vector<double>{};
  std::vector<double> x = b;
  result.solve_seconds = solve_once(mumps, x, 0);
  x = b;
  timer.resume();
  if (mumps.failure().empty())
    result.refine_seconds =
        std::max(0.0, solve_once(mumps, x, kRefinements) - result.solve_seconds);
  timer.pause();
  timer.write(result);
  if (result.failure = mumps.failure(); !result.failure.empty()) return result;
  if (host) result.backward_error = backward_error(matrix, x, b);
  return result;
}

}  // namespace

int main(int argc, char** argv) { return peer_main_of_processes(argc, argv, solve); }
