// CHOLMOD's supernodal Cholesky, for comparison: a program of its own, so that its memory
// is its own. Never part of the product.

#include <cholmod.h>
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "peer_matrix.h"
#include "peer_run.h"

namespace {

using namespace espalier::bench;
using espalier::Clock;
using espalier::since;

cholmod_sparse* convert(const PeerMatrix& matrix, cholmod_common& common) {
  const auto n = static_cast<std::size_t>(matrix.size);
  cholmod_sparse* a =
      cholmod_allocate_sparse(n, n, matrix.row.size(), 1, 1, -1, CHOLMOD_REAL, &common);
  if (a == nullptr) throw std::runtime_error("cholmod: no memory for the matrix");
  std::copy(matrix.column_start.begin(), matrix.column_start.end(),
            static_cast<int*>(a->p));
  std::copy(matrix.row.begin(), matrix.row.end(), static_cast<int*>(a->i));
  std::copy(matrix.value.begin(), matrix.value.end(), static_cast<double*>(a->x));
  return a;
}

void choose_method(cholmod_common& common, bool given) {
  common.print = 0;
  if (!given) return;  // as its users have it: also simplicial where that is faster
  common.supernodal = CHOLMOD_SUPERNODAL;
  common.final_ll = 1;
  common.nmethods = 1;
  common.method[0].ordering = CHOLMOD_GIVEN;
}

std::vector<double> solve_system(cholmod_factor* factor, const std::vector<double>& b,
                                 cholmod_common& common, PeerResult& result) {
  cholmod_dense* rhs = cholmod_zeros(b.size(), 1, CHOLMOD_REAL, &common);
  std::copy(b.begin(), b.end(), static_cast<double*>(rhs->x));
  const auto start = Clock::now();
  cholmod_dense* x = cholmod_solve(CHOLMOD_A, factor, rhs, &common);
  result.solve_seconds = since(start);
  if (x == nullptr) throw std::runtime_error("cholmod: the solve failed");
  const auto* values = static_cast<const double*>(x->x);
  return {values, values + b.size()};
}

PeerResult solve(const PeerOptions& options) {
  if (options.kind != "spd") throw std::invalid_argument("CHOLMOD: --kind spd only");
  if (!options.out_of_core.empty() || options.memory_mib != 0)
    throw std::invalid_argument("CHOLMOD keeps no bound and has no out of core");
  const PeerMatrix matrix = read_input(options.input);
  if (!matrix.symmetric) throw std::invalid_argument("CHOLMOD: not symmetric");
  set_blas_threads(options.threads);

  PeerResult result;
  cholmod_common common;
  cholmod_start(&common);
  const bool given = options.ordering == "given";
  choose_method(common, given);
  cholmod_sparse* a = convert(matrix, common);
  const std::vector<double> b = apply_to_ones(matrix);
  const auto start = Clock::now();
  RunTimer timer;
  timer.resume();
  std::vector<std::int32_t> permutation;
  if (given) permutation = metis_ordering(matrix);
  result.ordering_seconds = since(start);
  cholmod_factor* factor =
      cholmod_analyze_p(a, given ? permutation.data() : nullptr, nullptr, 0, &common);
  result.analyse_seconds = since(start);

  const Measured run =
      measure(options, timer, [&] { cholmod_factorize(a, factor, &common); });
  if (common.status != CHOLMOD_OK) {
    result.failure =
        common.status == CHOLMOD_NOT_POSDEF ? "not SPD" : std::to_string(common.status);
    return result;
  }
  result.factor_seconds = run.seconds;
  result.factor_rss_bytes = result.factor_rss_sum_bytes = run.growth;
  result.counted_peak_bytes = static_cast<std::int64_t>(common.memory_usage);
  result.factor_flops = common.fl;
  const std::vector<double> x = solve_system(factor, b, common, result);
  timer.pause();
  timer.write(result);
  result.backward_error = backward_error(matrix, x, b);
  return result;
}

}  // namespace

int main(int argc, char** argv) { return peer_main(argc, argv, solve); }
