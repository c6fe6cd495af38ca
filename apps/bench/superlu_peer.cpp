// SuperLU, for comparison: a program of its own, so that its memory is its own. Never
// part of the product.

#include <slu_ddefs.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "peer_matrix.h"
#include "peer_run.h"

namespace {

using namespace espalier::bench;

// A copy in SuperLU's own memory, which it scales and frees.
SuperMatrix convert(const PeerMatrix& full) {
  const auto entries = full.row.size();
  double* const value = doubleMalloc(static_cast<int>(entries));
  int* const row = intMalloc(static_cast<int>(entries));
  int* const start = intMalloc(full.size + 1);
  std::copy(full.value.begin(), full.value.end(), value);
  std::copy(full.row.begin(), full.row.end(), row);
  std::transform(full.column_start.begin(), full.column_start.end(), start,
                 [](std::int64_t at) { return static_cast<int>(at); });
  SuperMatrix a;
  dCreate_CompCol_Matrix(&a, full.size, full.size, static_cast<int>(entries), value, row,
                         start, SLU_NC, SLU_D, SLU_GE);
  return a;
}

// For symmetric systems as its manual advises: the diagonal where it will do, and an
// order of A + A^T.
void choose(superlu_options_t& options, bool symmetric) {
  set_default_options(&options);
  options.IterRefine = SLU_DOUBLE;
  if (!symmetric) return;
  options.SymmetricMode = YES;
  options.ColPerm = MMD_AT_PLUS_A;
  options.DiagPivotThresh = 0.001;
}

// n + 1: solved, with a condition that it finds too large.
std::string failure_of(int info, int n) {
  if (info < 0) return std::to_string(info);
  return info > 0 && info != n + 1 ? "singular" : "";
}

PeerResult solve(const PeerOptions& given) {
  if (!given.out_of_core.empty() || given.memory_mib != 0)
    throw std::invalid_argument("SuperLU keeps no bound and has no out of core");
  const PeerMatrix matrix = read_input(given.input);
  const PeerMatrix full = expand(matrix);
  set_blas_threads(given.threads);
  superlu_options_t options;
  choose(options, matrix.symmetric);
  SuperMatrix a = convert(full), l, u, right, unknown;
  const auto n = static_cast<std::size_t>(full.size);
  std::vector<int> row_order(n), column_order(n), tree(n);
  std::vector<double> row_scale(n), column_scale(n), x(n);
  const std::vector<double> b = apply_to_ones(matrix);
  std::vector<double> scaled_b = b;
  dCreate_Dense_Matrix(&right, full.size, 1, scaled_b.data(), full.size, SLU_DN, SLU_D,
                       SLU_GE);
  dCreate_Dense_Matrix(&unknown, full.size, 1, x.data(), full.size, SLU_DN, SLU_D,
                       SLU_GE);
  SuperLUStat_t statistics;
  StatInit(&statistics);
  char equed = 'N';
  double growth = 0, condition = 0, forward = 0, backward = 0;
  GlobalLU_t workspace;
  mem_usage_t memory;
  int info = 0;
  PeerResult result;
  RunTimer timer;
  timer.resume();
  const Measured run = measure(given, timer, [&] {
    dgssvx(&options, &a, column_order.data(), row_order.data(), tree.data(), &equed,
           row_scale.data(), column_scale.data(), &l, &u, nullptr, 0, &right, &unknown,
           &growth, &condition, &forward, &backward, &workspace, &memory, &statistics,
           &info);
  });
  timer.pause();
  timer.write(result);
  result.failure = failure_of(info, full.size);
  result.factor_seconds = run.seconds;
  result.factor_rss_bytes = result.factor_rss_sum_bytes = run.growth;
  result.factor_flops = statistics.ops[FACT];
  result.backward_error = backward_error(matrix, x, b);
  result.note = "analysis and solve are in the time of the factorisation";
  return result;
}

}  // namespace

int main(int argc, char** argv) { return peer_main(argc, argv, solve); }
