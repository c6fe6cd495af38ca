// Families of sparsity patterns, each solved by the library and by its peers as their
// users have them, every one with its own ordering: processor time from the analysis to
// the refined solution, and ours over that of the best peer.
//
//   pattern_bench [--repeat N] [--workers N] [--timeout SECONDS] [--memory GIB]
//                 [--json FILE] [NAME…]
//
// The same phases on both sides: analysis, factorisation, one solve and its refinement,
// from a matrix in memory to the solution; the start of a runtime is in ours. Reading,
// and whatever measures memory or the error afterwards, is in none. All run with the
// allocator as it is by default, and all inside the same limit of address space: what a
// peer does not do in it counts as failed. What takes less than a millisecond is solved
// 25 times by a program: the median, which has its pages in memory; the JSON has the
// first.
//
// Exit status 1 when ours failed or left a backward error above 1e-10. Ratios above 1.5
// are marked; they are a measurement, never a failure.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "bench_program.h"
#include "patterns.h"
#include "solver_inputs.h"
#include "solver_runs.h"

namespace {

using namespace espalier::bench;
using nlohmann::json;

constexpr double kCliff = 1.5;
const std::vector<std::string> kPeers = {"cholmod-own", "mumps-own", "umfpack-own",
                                         "superlu"};

struct Options {
  int repeat = 3, workers = 2, timeout = 120, memory_gib = 8;
  std::vector<std::string> names;
  std::string json_file;
};

std::string cell(const Series* s) {
  if (s == nullptr) return "-";
  if (!s->solved()) return s->failure;
  const std::string text = fmt::format("{:.3g}", s->median("processor_seconds"));
  return useful(*s) ? text : text + "!";
}

std::vector<Series> run_all(const Pattern& pattern, const Options& options) {
  const System system{.input = fmt::format("pattern:{}", pattern.name),
                      .kind = std::string(pattern.kind),
                      .workers = options.workers};
  std::vector<Series> series = beside_peers(system, kPeers);
  for (Series& s : series)
    s.way.command = fmt::format("ulimit -v {}; {}",
                                std::int64_t{options.memory_gib} << 20, s.way.command);
  run_in_turns(series, {.least = options.repeat, .timeout_seconds = options.timeout});
  return series;
}

// Processor time of the fastest; infinite: none is useful.
double best_of_peers(const std::vector<Series>& series) {
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < series.size(); ++i)
    if (useful(series[i])) best = std::min(best, series[i].median("processor_seconds"));
  return best;
}

// Prints the row of a pattern. @return whether ours solved it
bool print_row(const Pattern& pattern, const std::vector<Series>& series) {
  const Series& ours = series.front();
  const double best = best_of_peers(series);
  std::string line =
      fmt::format("{:<15} {:<9} {:>9}", pattern.name, pattern.kind, cell(&ours));
  for (const std::string& name : kPeers) {
    const auto found = std::find_if(series.begin(), series.end(),
                                    [&](const Series& s) { return s.way.name == name; });
    line += fmt::format(" {:>9}", cell(found == series.end() ? nullptr : &*found));
  }
  if (ours.solved() && best < std::numeric_limits<double>::infinity()) {
    const double ratio = ours.median("processor_seconds") / best;
    line += fmt::format(" {:>7.2f}{}", ratio, ratio > kCliff ? " *" : "  ");
  }
  if (ours.solved()) line += "  " + ours.runs.back().value("note", "");
  fmt::print("{}\n", line);
  std::fflush(stdout);
  return useful(ours);
}

int compare(const Options& options) {
  fmt::print(
      "Processor seconds, medians of {} runs, {} workers or BLAS threads, kernels of "
      "OpenBLAS: {}. Limits: {} s, {} GiB of address space.\n!: backward error above "
      "{:.0e}, counts for none. *: over {} times "
      "the best peer.\n\n{:<15} {:<9} {:>9}",
      options.repeat, options.workers, choose_blas_kernel(), options.timeout,
      options.memory_gib, kUseless, kCliff, "pattern", "kind", "ours");
  for (const char* name : {"CHOLMOD", "MUMPS", "UMFPACK", "SuperLU"})
    fmt::print(" {:>9}", name);
  fmt::print(" {:>7}\n", "ratio");
  bool good = true;
  json all = json::array();
  for (const Pattern& pattern : patterns()) {
    const auto& names = options.names;
    if (!names.empty() &&
        std::find(names.begin(), names.end(), pattern.name) == names.end())
      continue;
    const std::vector<Series> series = run_all(pattern, options);
    good = print_row(pattern, series) && good;
    all.push_back(
        {{"pattern", pattern.name}, {"kind", pattern.kind}, {"ways", to_json(series)}});
    write_file(options.json_file, all.dump(1));
  }
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Patterns of sparse matrices: the library beside its peers");
  add_repeat(app, options.repeat);
  add_workers(app, options.workers);
  add_timeout(app, options.timeout);
  app.add_option("--memory", options.memory_gib, "GiB of address space of one run")
      ->check(CLI::Range(1, 1'000'000));
  add_json(app, options.json_file);
  app.add_option("NAME", options.names, "Patterns; none: all");
  return parse_and_run(app, argc, argv, [&] { return compare(options); });
}
