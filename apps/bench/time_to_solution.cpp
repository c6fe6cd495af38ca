// Time to solution: each matrix solved by the library and by its peers as their users
// have them, every one with its own ordering, by the clock, from the matrix in memory to
// the refined solution. The start of a runtime is in ours, reading is in none.
//
//   time_to_solution [--repeat N] [--seconds SECONDS] [--workers N] [--kinds KIND,…]
//                    [--peers NAME,…] [--timeout SECONDS] [--json FILE]
//                    [--markdown FILE] INPUT…
//   INPUT: a matrix file, grid:NXxNYxNZ, or a folder of matrix files
//
// All take turns, --repeat times each, and with --seconds as often as fits: where pages
// and threads come from a busy host, three runs of some milliseconds tell little.
//
// A ratio is the time of the best peer over ours; "factor" is that of the factorisations
// alone, of peers that tell it apart. What leaves a backward error above 1e-10 counts for
// none.
//
// Exit status 1 when ours failed or left such an error. Ratios are a measurement, never a
// failure.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "bench_program.h"
#include "solver_inputs.h"
#include "solver_runs.h"

namespace {

using namespace espalier::bench;
using nlohmann::json;

struct Options {
  int repeat = 3, seconds = 0, workers = 2, timeout = 600;
  std::vector<std::string> kinds = {"auto"};
  std::vector<std::string> peers = {"cholmod-own", "mumps-own-relaxed", "mumps-mpi-own",
                                    "umfpack-own", "superlu-dist"};
  std::vector<std::string> inputs;
  std::string json_file, markdown_file;
};

// The least median of the useful ones but the first, which is ours; none: there is none.
std::optional<double> best_of_peers(const std::vector<Series>& series, const char* key) {
  std::optional<double> best;
  for (std::size_t i = 1; i < series.size(); ++i) {
    if (!useful(series[i])) continue;
    const double seconds = series[i].median(key);
    if (seconds > 0) best = std::min(best.value_or(seconds), seconds);
  }
  return best;
}

std::optional<double> ratio(const std::vector<Series>& series, const char* key) {
  const std::optional<double> best = best_of_peers(series, key);
  if (!best || !useful(series.front())) return std::nullopt;
  return *best / series.front().median(key);
}

std::string cell(const std::vector<Series>& series, const std::string& name) {
  const auto found = std::ranges::find(
      series, name, [](const Series& s) -> auto& { return s.way.name; });
  if (found == series.end()) return "-";
  if (!found->solved()) return found->failure;
  return fmt::format("{:.3g}{}", found->median("solution_seconds"),
                     useful(*found) ? "" : "!");
}

std::string cell(std::optional<double> ratio) {
  return ratio ? fmt::format("{:.2f}", *ratio) : "-";
}

/// Geometric mean and least of ratios.
class Ratios {
 public:
  void add(std::optional<double> ratio) {
    if (!ratio) return;
    logarithms_ += std::log(*ratio);
    least_ = std::min(least_, *ratio);
    ++count_;
  }
  [[nodiscard]] std::string text() const {
    if (count_ == 0) return "none";
    return fmt::format("geometric mean {:.2f}, least {:.2f}, of {}",
                       std::exp(logarithms_ / count_), least_, count_);
  }

 private:
  double logarithms_ = 0, least_ = std::numeric_limits<double>::infinity();
  int count_ = 0;
};

/// The rows, for a terminal and in Markdown.
class Table {
 public:
  explicit Table(const Options& options) : options_(options) {
    std::vector<std::string> head = {"matrix", "kind", "ours"};
    head.insert(head.end(), options.peers.begin(), options.peers.end());
    head.insert(head.end(), {"ratio", "factor"});
    add(head);
    markdown_ += "|";
    for (std::size_t i = 0; i < head.size(); ++i) markdown_ += "---|";
    markdown_ += "\n";
  }

  void add(const System& system, const std::vector<Series>& series) {
    std::vector<std::string> row = {short_name(system.input), system.kind,
                                    cell(series, "library")};
    for (const std::string& name : options_.peers) row.push_back(cell(series, name));
    row.push_back(cell(ratio(series, "solution_seconds")));
    row.push_back(cell(ratio(series, "factor_seconds")));
    add(row);
  }

  [[nodiscard]] const std::string& markdown() const { return markdown_; }

 private:
  void add(const std::vector<std::string>& row) {
    std::string line = fmt::format("{:<26} {:<9}", row[0], row[1]);
    for (std::size_t i = 2; i < row.size(); ++i)
      line += fmt::format(" {:>{}}", row[i], std::max<std::size_t>(8, width(i)));
    fmt::print("{}\n", line);
    std::fflush(stdout);
    markdown_ += fmt::format("| {} |\n", fmt::join(row, " | "));
  }
  // Of column i, as its title.
  [[nodiscard]] std::size_t width(std::size_t i) const {
    return i >= 3 && i - 3 < options_.peers.size() ? options_.peers[i - 3].size() : 0;
  }

  const Options& options_;
  std::string markdown_;
};

int compare(const Options& options) {
  fmt::print(
      "Seconds by the clock from the matrix in memory to the refined solution, medians "
      "of {} runs{}; {} workers,\nBLAS threads or processes; kernels of OpenBLAS: {}. "
      "Limit: {} s. !: backward error above {:.0e}, counts\nfor none. ratio: best peer / "
      "ours; factor: the same of factorisations alone.\n\n",
      options.repeat,
      options.seconds > 0 ? fmt::format(", more within {} s", options.seconds) : "",
      options.workers, choose_blas_kernel(), options.timeout, kUseless);
  Table table(options);
  Ratios whole, factor;
  bool good = true;
  json all = json::array();
  for (const std::string& input : expand_folders(options.inputs))
    for (const std::string& kind :
         kinds_of(facts_of(input, options.timeout), options.kinds)) {
      const System system{.input = input, .kind = kind, .workers = options.workers};
      std::vector<Series> series = beside_peers(system, options.peers);
      run_in_turns(series, {options.repeat, options.seconds, options.timeout});
      table.add(system, series);
      whole.add(ratio(series, "solution_seconds"));
      factor.add(ratio(series, "factor_seconds"));
      good = useful(series.front()) && good;
      all.push_back({{"input", input}, {"kind", kind}, {"ways", to_json(series)}});
      write_file(options.json_file, all.dump(1));
    }
  const std::string closing = fmt::format("Time to solution: {}. Factorisation: {}.",
                                          whole.text(), factor.text());
  fmt::print("\n{}\n", closing);
  write_file(options.markdown_file, table.markdown() + "\n" + closing);
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Time to solution: the library beside its peers");
  add_repeat(app, options.repeat);
  app.add_option("--seconds", options.seconds, "More runs until so many have passed")
      ->check(CLI::Range(0, 86'400));
  add_workers(app, options.workers, "Workers, BLAS threads or processes");
  add_timeout(app, options.timeout);
  add_kinds(app, options.kinds);
  add_peers(app, options.peers, all_peers());
  add_json(app, options.json_file);
  app.add_option("--markdown", options.markdown_file,
                 "Also write the table to this file");
  app.add_option("INPUT", options.inputs, "Matrix files, grids, folders")->required();
  return parse_and_run(app, argc, argv, [&] { return compare(options); });
}
