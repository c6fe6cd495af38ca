// What a small system costs from call to return, without a runtime: ours beside CHOLMOD,
// MUMPS and UMFPACK, call after call in one process and one thread.
//
//   small_bench [--calls N] [--order N…] [--kind spd|symmetric|general…] [--no-residual]
//   [--alone]
//
// Processor time of the calling thread, BLAS on one thread, in microseconds: the least
// mean of the batches in the second half of all calls. The solvers take turns batch by
// batch. "fresh": analysis, factorisation and solve, everything made and given back;
// "values": factorisation and solve under an analysis that is kept. Ours measures the
// error of each solution and UMFPACK refines, as they do unless told otherwise; with
// --no-residual ours does neither.
//
// Exit status 1 when a solution is wrong. Ratios above 1.2 are marked; they are a
// measurement, never a failure.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>

#include "bench_program.h"
#include "espalier/machine/blas_kernel.h"
#include "espalier/model/processor_time.h"
#include "peer_run.h"
#include "small_systems.h"

namespace {

using namespace espalier::bench;

constexpr double kCliff = 1.2, kWrong = 1e-10;
constexpr int kBatches = 20;
constexpr double kBatchSeconds = 0.1;  // at most

struct Options {
  int calls = 10'000;
  bool no_residual = false;
  bool alone = false;
  std::vector<std::int32_t> orders = {10, 30, 100, 300, 1000, 2000};
  std::vector<std::string> kinds = {"spd", "symmetric", "general"};
};

using Call = void (SmallSolver::*)(std::vector<double>&);

struct System {
  PeerMatrix matrix;
  std::vector<double> b = apply_to_ones(matrix);
  bool wrong = false;

  // Seconds of a call, the mean of so many.
  double seconds(SmallSolver& solver, Call call, int calls) {
    std::vector<double> x;
    const double start = espalier::thread_seconds();
    for (int i = 0; i < calls; ++i) {
      x = b;
      (solver.*call)(x);
    }
    const double passed = espalier::thread_seconds() - start;
    if (!(backward_error(matrix, x, b) <= kWrong)) {
      fmt::print(stderr, "{}: wrong\n", solver.name());
      wrong = true;
    }
    return passed / calls;
  }
};

// Least seconds of each solver.
std::vector<double> measure(System& system,
                            std::vector<std::unique_ptr<SmallSolver>>& solvers, Call call,
                            int calls) {
  std::vector<double> least(solvers.size(), std::numeric_limits<double>::infinity());
  std::vector<int> batch;
  for (auto& each : solvers) {
    const double once = system.seconds(*each, call, 1);
    batch.push_back(
        std::clamp(static_cast<int>(kBatchSeconds / once), 1, calls / kBatches));
  }
  for (int turn = 0; turn < kBatches; ++turn)
    for (std::size_t i = 0; i < solvers.size(); ++i) {
      const double mean = system.seconds(*solvers[i], call, batch[i]);
      if (turn >= kBatches / 2) least[i] = std::min(least[i], mean);
    }
  return least;
}

void print_row(const System& system, std::string_view kind, std::string_view what,
               const std::vector<std::unique_ptr<SmallSolver>>& solvers,
               const std::vector<double>& seconds) {
  std::string line = fmt::format("{:<9} {:>5} {:<7}", kind, system.matrix.size, what);
  for (const char* name : {"ours", "CHOLMOD", "MUMPS", "UMFPACK"}) {
    const auto found = std::find_if(solvers.begin(), solvers.end(),
                                    [&](const auto& s) { return s->name() == name; });
    line += found == solvers.end()
                ? fmt::format(" {:>9}", "-")
                : fmt::format(" {:>9.1f}", 1e6 * seconds[found - solvers.begin()]);
  }
  if (seconds.size() > 1) {
    const double best = *std::min_element(seconds.begin() + 1, seconds.end());
    const double ratio = seconds.front() / best;
    line += fmt::format(" {:>7.2f}{}", ratio, ratio > kCliff ? " *" : "");
  }
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

bool compare(const Options& options) {
  fmt::print("Kernels of OpenBLAS: {}; microseconds of a call\n\n",
             espalier::blas_kernel().value_or("another BLAS"));
  fmt::print("{:<9} {:>5} {:<7} {:>9} {:>9} {:>9} {:>9} {:>7}\n", "kind", "order", "",
             "ours", "CHOLMOD", "MUMPS", "UMFPACK", "ratio");
  bool good = true;
  for (const std::string& kind : options.kinds)
    for (const std::int32_t order : options.orders) {
      System system{small_system(kind, order)};
      auto solvers = small_solvers(system.matrix, kind, !options.no_residual);
      if (options.alone) solvers.resize(1);
      print_row(system, kind, "fresh", solvers,
                measure(system, solvers, &SmallSolver::solve_fresh, options.calls));
      for (auto& each : solvers) each->keep_analysis();
      print_row(system, kind, "values", solvers,
                measure(system, solvers, &SmallSolver::solve_values, options.calls));
      good = good && !system.wrong;
    }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Small systems: the library beside its peers, call after call");
  app.add_option("--calls", options.calls, "Of each solver, unless they take long")
      ->check(CLI::Range(kBatches, 10'000'000));
  app.add_option("--order", options.orders, "Orders")->check(CLI::Range(10, 100'000));
  app.add_option("--kind", options.kinds, "Kinds")
      ->check(CLI::IsMember({"spd", "symmetric", "general"}));
  app.add_flag("--no-residual", options.no_residual,
               "Ours: neither error nor refinement");
  app.add_flag("--alone", options.alone, "Ours without its peers, for a profiler");
  return parse_and_run(app, argc, argv, [&] {
    set_blas_threads(1);
    return compare(options) ? 0 : 1;
  });
}
