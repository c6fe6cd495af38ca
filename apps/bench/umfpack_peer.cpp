// UMFPACK's LU, for comparison: a program of its own, so that its memory is its own.
// Never part of the product.

#include <umfpack.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "peer_matrix.h"
#include "peer_run.h"

namespace {

using namespace espalier::bench;
using espalier::Clock;
using espalier::since;
using Long = SuiteSparse_long;

// 64-bit indices: the factors of a 3-D problem pass 2^31 bytes early.
struct System {
  std::vector<Long> column_start, row, ordering;
  std::vector<double> value;
  Long size = 0;
};

struct Umfpack {
  std::array<double, UMFPACK_CONTROL> control{};
  std::array<double, UMFPACK_INFO> info{};
  void* symbolic = nullptr;
  void* numeric = nullptr;

  Umfpack() { umfpack_dl_defaults(control.data()); }
  Umfpack(const Umfpack&) = delete;
  Umfpack& operator=(const Umfpack&) = delete;
  ~Umfpack() {
    umfpack_dl_free_symbolic(&symbolic);
    umfpack_dl_free_numeric(&numeric);
  }

  Long analyse(const System& a) {
    if (a.ordering.empty())
      return umfpack_dl_symbolic(a.size, a.size, a.column_start.data(), a.row.data(),
                                 a.value.data(), &symbolic, control.data(), info.data());
    control[UMFPACK_STRATEGY] = UMFPACK_STRATEGY_SYMMETRIC;
    return umfpack_dl_qsymbolic(a.size, a.size, a.column_start.data(), a.row.data(),
                                a.value.data(), a.ordering.data(), &symbolic,
                                control.data(), info.data());
  }
};

System convert(const PeerMatrix& full) {
  return {{full.column_start.begin(), full.column_start.end()},
          {full.row.begin(), full.row.end()},
          {},
          full.value,
          full.size};
}

// Whether UMFPACK, left to itself, takes its symmetric strategy, the one that an ordering
// of A + A^T is for. With a given ordering it takes the other unless told.
bool prefers_symmetric_strategy(const System& a) {
  Umfpack trial;
  return trial.analyse(a) >= 0 &&
         trial.info[UMFPACK_STRATEGY_USED] == UMFPACK_STRATEGY_SYMMETRIC;
}

PeerResult failed(std::string code) {
  PeerResult result;
  result.failure = std::move(code);
  return result;
}

// Seconds of a solve with at most so many corrections by UMFPACK itself.
double solve_once(Umfpack& umfpack, const System& a, const std::vector<double>& b,
                  std::vector<double>& x, double refinements) {
  umfpack.control[UMFPACK_IRSTEP] = refinements;
  const auto start = Clock::now();
  const Long status = umfpack_dl_solve(
      UMFPACK_A, a.column_start.data(), a.row.data(), a.value.data(), x.data(), b.data(),
      umfpack.numeric, umfpack.control.data(), umfpack.info.data());
  if (status != UMFPACK_OK)
    throw std::runtime_error("umfpack: the solve failed: " + std::to_string(status));
  return since(start);
}

// The solve, then again with UMFPACK's own refinement.
void add_solves(Umfpack& umfpack, const System& a, const PeerMatrix& matrix,
                RunTimer& timer, PeerResult& result) {
  timer.pause();
  const std::vector<double> b = apply_to_ones(matrix);
  std::vector<double> x(b.size());
  result.solve_seconds = solve_once(umfpack, a, b, x, 0);
  timer.resume();
  const double refined = solve_once(umfpack, a, b, x, UMFPACK_DEFAULT_IRSTEP);
  timer.pause();
  result.refine_seconds = std::max(0.0, refined - result.solve_seconds);
  result.backward_error = backward_error(matrix, x, b);
}

PeerResult solve(const PeerOptions& options) {
  if (!options.out_of_core.empty() || options.memory_mib != 0)
    throw std::invalid_argument("UMFPACK keeps no bound and has no out of core");
  const PeerMatrix matrix = read_input(options.input);
  System a = convert(expand(matrix));
  set_blas_threads(options.threads);

  PeerResult result;
  Umfpack umfpack;
  const bool given = options.ordering == "given" && prefers_symmetric_strategy(a);
  const auto start = Clock::now();
  RunTimer timer;
  timer.resume();
  if (given) {
    const std::vector<std::int32_t> ordering = metis_ordering(matrix);
    a.ordering.assign(ordering.begin(), ordering.end());
  }
  result.ordering_seconds = since(start);
  Long status = umfpack.analyse(a);
  result.analyse_seconds = since(start);
  if (status < 0) return failed(std::to_string(status));

  const Measured run = measure(options, timer, [&] {
    status = umfpack_dl_numeric(a.column_start.data(), a.row.data(), a.value.data(),
                                umfpack.symbolic, &umfpack.numeric,
                                umfpack.control.data(), umfpack.info.data());
  });
  if (status == UMFPACK_WARNING_singular_matrix) return failed("singular");
  if (status < 0) return failed(std::to_string(status));
  result.factor_seconds = run.seconds;
  result.factor_rss_bytes = result.factor_rss_sum_bytes = run.growth;
  result.factor_flops = umfpack.info[UMFPACK_FLOPS];
  result.counted_peak_bytes = static_cast<std::int64_t>(
      umfpack.info[UMFPACK_PEAK_MEMORY] * umfpack.info[UMFPACK_SIZE_OF_UNIT]);
  result.note = given ? "ordering as given" : "its own ordering";

  add_solves(umfpack, a, matrix, timer, result);
  timer.write(result);
  return result;
}

}  // namespace

int main(int argc, char** argv) { return peer_main(argc, argv, solve); }
