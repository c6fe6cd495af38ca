// SuperLU_DIST, for comparison: a program of its own, to be started by mpirun. Never part
// of the product.

#include <omp.h>
#include <superlu_ddefs.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "peer_matrix.h"
#include "peer_processes.h"
#include "peer_run.h"

namespace {

using namespace espalier::bench;

// In SuperLU's own memory, which it scales, permutes and frees.
SuperMatrix convert(const PeerMatrix& full) {
  const auto entries = static_cast<int_t>(full.row.size());
  double* const value = doubleMalloc_dist(entries);
  int_t* const row = intMalloc_dist(entries);
  int_t* const start = intMalloc_dist(full.size + 1);
  std::ranges::copy(full.value, value);
  std::ranges::copy(full.row, row);
  std::ranges::transform(full.column_start, start,
                         [](std::int64_t at) { return static_cast<int_t>(at); });
  SuperMatrix a;
  dCreate_CompCol_Matrix_dist(&a, full.size, full.size, entries, value, row, start,
                              SLU_NC, SLU_D, SLU_GE);
  return a;
}

// Processes in two dimensions, as square as they go, columns first.
gridinfo_t grid_of(int processes) {
  int rows = 1;
  for (int k = 2; k * k <= processes; ++k)
    if (processes % k == 0) rows = k;
  gridinfo_t grid;
  superlu_gridinit(MPI_COMM_WORLD, rows, processes / rows, &grid);
  return grid;
}

// What one solve leaves.
struct Structures {
  dScalePermstruct_t scaling;
  dLUstruct_t factor;
  SuperLUStat_t statistics;

  explicit Structures(std::int32_t size) {
    dScalePermstructInit(size, size, &scaling);
    dLUstructInit(size, &factor);
    PStatInit(&statistics);
  }
  Structures(const Structures&) = delete;
  Structures& operator=(const Structures&) = delete;
  ~Structures() {
    PStatFree(&statistics);
    dScalePermstructFree(&scaling);
    dLUstructFree(&factor);
  }
};

PeerResult solve(const PeerOptions& given, const Processes& processes) {
  if (!given.out_of_core.empty() || given.memory_mib != 0)
    throw std::invalid_argument("SuperLU_DIST keeps no bound and has no out of core");
  const PeerMatrix matrix = read_input(given.input);  // whole at every process
  SuperMatrix a = convert(expand(matrix));
  omp_set_num_threads(given.threads);
  set_blas_threads(given.threads);
  const std::vector<double> b = apply_to_ones(matrix);
  std::vector<double> x = b;
  superlu_dist_options_t options;
  set_default_options_dist(&options);
  options.PrintStat = NO;
  gridinfo_t grid = grid_of(processes.size());
  Structures left(matrix.size);
  double error = 0;
  int info = 0;
  PeerResult result;
  processes.wait_for_all();
  RunTimer timer;
  timer.resume();
  const Measured run = measure(given, timer, [&] {
    pdgssvx_ABglobal(&options, &a, &left.scaling, x.data(), matrix.size, 1, &grid,
                     &left.factor, &error, &left.statistics, &info);
  });
  timer.pause();
  timer.write(result);
  if (info != 0) result.failure = info > 0 ? "singular" : std::to_string(info);
  const double* const seconds = left.statistics.utime;
  result.analyse_seconds = run.seconds - seconds[FACT] - seconds[SOLVE] - seconds[REFINE];
  result.factor_seconds = seconds[FACT];
  result.solve_seconds = seconds[SOLVE];
  result.refine_seconds = seconds[REFINE];
  result.factor_rss_bytes = processes.largest(run.growth);
  result.factor_rss_sum_bytes = processes.sum(run.growth);
  result.factor_flops = left.statistics.ops[FACT];
  result.backward_error = backward_error(matrix, x, b);
  result.note = "growth is of all phases";
  dDestroy_LU(matrix.size, &grid, &left.factor);
  Destroy_CompCol_Matrix_dist(&a);
  superlu_gridexit(&grid);
  return result;
}

}  // namespace

int main(int argc, char** argv) { return peer_main_of_processes(argc, argv, solve); }
