// The solver on several processes beside MUMPS over MPI, the runs interleaved so that a
// machine that slows down slows both: time, growth of the largest process, memory
// efficiency, traffic, and whether every bound was kept.
//
//   cluster_bench [--repeat N] [--processes N,…] [--memory none,min,…] [--kinds KIND,…]
//                 [--peer-processes N,…] [--timeout SECONDS] [--program FILE]
//                 [--json FILE] [--markdown FILE] INPUT…
//   cluster_bench --sweep [--processes N,…] [--workers N,…] [--memory none,min,…]
//                 [--kinds KIND,…] [--timeout SECONDS] [--program FILE] INPUT…
//   INPUT: a matrix file, grid:NXxNYxNZ, or a folder of matrix files
//
// A sweep times nothing: every system on every number of processes, and whether each run
// was right. Exit status 1 when a run of ours failed, went beyond a bound or left a large
// backward error, as in solver_bench. A peer that fails is a cell.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "bench_program.h"
#include "cluster_sweep.h"
#include "cluster_table.h"
#include "solver_inputs.h"
#include "solver_runs.h"
#include "solver_table.h"

namespace {

using namespace espalier::bench;
using nlohmann::json;

struct Options {
  int repeat = 3, timeout = 0;
  bool sweep = false;
  std::vector<int> processes, workers = {1, 2}, peer_processes = {1, 2};
  std::vector<std::string> memory = {"none", "min"}, kinds = {"auto"}, inputs;
  std::string program, json_file, markdown_file;

  [[nodiscard]] ClusterCounts counts() const {
    return {processes, memory, peer_processes};
  }
};

void print_legend(const Options& options) {
  fmt::print(
      "P processes, one worker and one BLAS thread each. Seconds: medians of {} runs. "
      "MiB: growth of the\nresident set while factorising, of the process that grows "
      "most. M: MUMPS on as many processes with\nthe same ordering; M/ours: seconds; "
      "ours/M: bytes; M flops: over ours. e(P): growth with one\nprocess / (P x growth), "
      "the same bound. error: the largest.\nKernels of OpenBLAS, ours and theirs: "
      "{}.\n\n",
      options.repeat, choose_blas_kernel());
  print_cluster_row(cluster_header());
}

int compare(const Options& options) {
  print_legend(options);
  bool good = true;
  std::vector<Row> table = {cluster_header()};
  json all = json::array();
  for (const std::string& input : expand_folders(options.inputs)) {
    const json facts = facts_of(input, options.timeout);
    for (const std::string& kind : kinds_of(facts, options.kinds)) {
      const System system{input, kind, 1, options.program};
      Case c(system, facts, cluster_ways(system, options.counts()));
      c.run(options.repeat, options.timeout);
      for (const Row& row : cluster_rows(c, options.counts())) {
        print_cluster_row(row);
        table.push_back(row);
      }
      good = c.good() && good;
      all.push_back(to_json(c));
      write_file(options.json_file, all.dump(1));
      write_file(options.markdown_file, cluster_markdown(table));
    }
  }
  return good ? 0 : 1;
}

int sweep(const Options& options) {
  const Sweep all{options.inputs, options.kinds,   options.processes, options.workers,
                  options.memory, options.timeout, options.program};
  return run_sweep(all) == 0 ? 0 : 1;
}

// What depends on --sweep and was not given.
void set_defaults(Options& options) {
  if (options.timeout == 0) options.timeout = options.sweep ? 100 : 600;
  if (options.processes.empty())
    options.processes =
        options.sweep ? std::vector<int>{1, 2, 3, 4} : std::vector<int>{1, 2, 4};
  if (options.inputs.empty())
    options.inputs = {"grid:40x40x40", "grid:60x60x60", "grid:1000x1000x1"};
}

CLI::Option* add_list(CLI::App& app, const std::string& name, auto& list,
                      const std::string& text) {
  return app.add_option(name, list, text)->delimiter(',')->allow_extra_args(false);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("The solver on several processes beside MUMPS");
  app.add_flag("--sweep", options.sweep, "Time nothing; say whether each run is right");
  add_repeat(app, options.repeat);
  add_list(app, "--processes", options.processes, "Processes (1,2,4; a sweep: 1,2,3,4)")
      ->check(CLI::Range(1, 1024));
  add_list(app, "--workers", options.workers, "Workers of a process, in a sweep (1,2)")
      ->check(CLI::Range(1, 1024));
  add_list(app, "--memory", options.memory, "Bounds, as espalier takes them (none,min)");
  add_list(app, "--kinds", options.kinds, "Kinds to factor as (auto)")
      ->check(CLI::IsMember({"auto", "spd", "symmetric", "general"}));
  add_list(app, "--peer-processes", options.peer_processes, "Processes of MUMPS (1,2)")
      ->check(CLI::Range(1, 1024));
  add_timeout(app, options.timeout, "Seconds of a run (600; a sweep: 100)");
  app.add_option("--program", options.program, "espalier (beside this program)")
      ->check(CLI::ExistingFile);
  add_json(app, options.json_file);
  app.add_option("--markdown", options.markdown_file,
                 "Also write the table to this file");
  app.add_option("INPUT", options.inputs, "Matrix, grid:NXxNYxNZ or folder");
  return parse_and_run(app, argc, argv, [&] {
    set_defaults(options);
    return options.sweep ? sweep(options) : compare(options);
  });
}
