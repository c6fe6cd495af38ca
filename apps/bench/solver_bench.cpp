// The solver beside CHOLMOD, MUMPS and UMFPACK, each in processes of its own, runs
// interleaved so that a machine that slows down slows all: time, memory, backward error,
// and whether the bound was kept.
//
//   solver_bench [--repeat N] [--workers N] [--kinds KIND,…] [--peers NAME,…]
//                [--timeout SECONDS] [--json FILE] [--picture FILE] [--markdown FILE]
//                INPUT…
//   INPUT: a matrix file, grid:NXxNYxNZ, or a folder of matrix files
//
// Exit status 1 when ours failed, went beyond a bound, or left a componentwise backward
// error above 1e-14 (spd) or 1e-12 (symmetric, general). A peer that fails is a cell.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "bench_program.h"
#include "solver_inputs.h"
#include "solver_picture.h"
#include "solver_runs.h"
#include "solver_table.h"

namespace {

using namespace espalier::bench;
using nlohmann::json;

struct Options {
  int repeat = 3, workers = 2, timeout = 600;
  std::vector<std::string> kinds = {"auto"};
  std::vector<std::string> peers = {"cholmod", "mumps", "mumps-mpi", "umfpack"};
  std::vector<std::string> inputs;
  std::string json_file, picture, markdown_file;
};

double dgemm_rate(const Options& options) {
  const Outcome outcome = run_command(
      fmt::format("{}/dgemm_rate {}", quoted(program_folder()), options.workers),
      options.timeout);
  return outcome.json ? outcome.json->at("dgemm_rate").get<double>() : 0;
}

std::vector<Series> all_ways(const System& system, const Options& options) {
  const std::string ordering = "--ordering metis --memory ";
  std::vector<Series> series;
  series.push_back(
      {{"espalier", "Espalier", our_command(system, ordering + "none")}, {}, {}});
  series.push_back(
      {{"espalier-min", "Espalier, least", our_command(system, ordering + "min")},
       {},
       {}});
  for (const std::string& name : options.peers)
    if (auto way = peer(name, system)) series.push_back({*way, {}, {}});
  return series;
}

// With one ordering CHOLMOD counts exactly the flops of ours: a check of the comparison.
void check_orderings(const Case& c) {
  double cholmod = 0;
  for (const Series& s : c.series)
    if (s.way.name == "cholmod" && s.solved()) cholmod = s.median("factor_flops");
  if (c.series.front().solved() && cholmod > 0 &&
      std::abs(c.flops() / cholmod - 1) > 0.01)
    fmt::print(stderr, "{}: not the same ordering: {:.3e} flops, CHOLMOD {:.3e}\n",
               c.name, c.flops(), cholmod);
}

int compare(const Options& options) {
  fmt::print(
      "Seconds: medians of {} runs, {} workers, BLAS threads or processes, analysis with "
      "its ordering. MiB:\ngrowth of the resident set while factorising, all processes. "
      "/dgemm: of two matrices of order 2048.\ntime/p, mem/p: over the better peer's. "
      "error: after refinement, which CHOLMOD has not; above 1e-10 a peer "
      "counts for none. Kernels of OpenBLAS, ours and theirs: {}.\n\n",
      options.repeat, options.workers, choose_blas_kernel());
  print_row(table_header());
  bool good = true;
  std::vector<Case> cases;
  json all = json::array();
  for (const std::string& input : expand_folders(options.inputs)) {
    const json facts = facts_of(input, options.timeout);
    for (const std::string& kind : kinds_of(facts, options.kinds)) {
      const System system{input, kind, options.workers};
      Case& c = cases.emplace_back(system, facts, all_ways(system, options));
      c.dgemm_rate = dgemm_rate(options);
      c.run(options.repeat, options.timeout);
      for (const Row& row : table_rows(c)) print_row(row);
      check_orderings(c);
      good = c.good() && good;
      all.push_back(to_json(c));
      write_file(options.json_file, all.dump(1));
    }
  }
  write_file(options.markdown_file, markdown(cases));
  if (!options.picture.empty()) draw(cases, options.picture);
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("The solver beside CHOLMOD, MUMPS and UMFPACK");
  add_repeat(app, options.repeat);
  add_workers(app, options.workers, "Workers, BLAS threads or processes");
  add_timeout(app, options.timeout);
  add_kinds(app, options.kinds);
  add_peers(app, options.peers, all_peers());
  add_json(app, options.json_file);
  app.add_option("--picture", options.picture, "Draw the ratios: *.svg or *.png");
  app.add_option("--markdown", options.markdown_file,
                 "Also write the table to this file");
  app.add_option("INPUT", options.inputs, "Matrix, grid:NXxNYxNZ or folder")
      ->default_val(
          std::vector<std::string>{"grid:40x40x40", "grid:60x60x60", "grid:1000x1000x1"});
  return parse_and_run(app, argc, argv, [&] { return compare(options); });
}
