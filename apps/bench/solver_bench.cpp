// The solver beside CHOLMOD, each in processes of its own, runs interleaved so that a
// machine that slows down slows all: time, memory, and whether the bound was kept.
//
//   solver_bench [--repeat N] [--workers N] [--json FILE] INPUT…
//   INPUT: a Matrix Market file, grid:NXxNYxNZ, or a folder of *.mtx, *.mtx.gz
//
// Exit status 1 when a bound was exceeded or a backward error is above 1e-14.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "run_json.h"

namespace {

using nlohmann::json;

struct Options {
  int repeat = 3, workers = 2;
  std::string json_file;
  std::vector<std::string> inputs;
};

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// The runs of one way to solve one system.
struct Series {
  std::string command;
  std::vector<json> runs;

  void repeat() { runs.push_back(run_json(command)); }
  [[nodiscard]] double median(const char* key) const {
    std::vector<double> values;
    for (const json& run : runs) values.push_back(run.at(key).get<double>());
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  }
  [[nodiscard]] double largest(const char* key) const {
    double value = 0;
    for (const json& run : runs) value = std::max(value, run.at(key).get<double>());
    return value;
  }
  [[nodiscard]] bool bound_kept() const {
    return std::all_of(runs.begin(), runs.end(), [](const json& run) {
      return !run.contains("bound_kept") || run.at("bound_kept").get<bool>();
    });
  }
};

struct Comparison {
  Series unbounded, least, quarter_more, cholmod;

  Comparison(const std::string& bin, const std::string& input, int workers) {
    const bool grid = input.starts_with("grid:");
    const std::string ours =
        fmt::format("{}/espalier solve {} --workers {} --json ", quoted(bin),
                    grid ? "--grid " + input.substr(5) : quoted(input), workers);
    unbounded.command = ours + "--memory none";
    least.command = ours + "--memory min";
    quarter_more.command = ours + "--memory x1.25";
    // CHOLMOD's OpenMP threads would spin against its BLAS threads otherwise.
    cholmod.command = fmt::format("OMP_WAIT_POLICY=passive {}/cholmod_peer {} {}",
                                  quoted(bin), quoted(input), workers);
  }
  void repeat() {
    unbounded.repeat();
    least.repeat();
    cholmod.repeat();
  }
};

constexpr double kMebi = 1024 * 1024;

bool print_row(const std::string& name, const Comparison& c) {
  const double flops = c.least.runs[0].at("factor_flops").get<double>();
  const double error =
      std::max({c.unbounded.largest("backward_error"), c.least.largest("backward_error"),
                c.quarter_more.largest("backward_error")});
  const bool kept =
      c.unbounded.bound_kept() && c.least.bound_kept() && c.quarter_more.bound_kept();
  const double ours = c.unbounded.median("factor_seconds");
  const double bounded = c.least.median("factor_seconds");
  const double peer = c.cholmod.median("factor_seconds");
  fmt::print(
      "{:<28} {:>8} {:>8.2e} {:>8.3f} {:>8.3f} {:>6.2f} {:>8.3f} {:>6.2f} {:>6.1f} "
      "{:>8.1f} {:>8.1f} {:>6.2f} {:>8.1f} {:>8.1e} {:>5}\n",
      name, c.least.runs[0].at("size").get<int>(), flops, ours, bounded, bounded / ours,
      peer, ours / peer, flops / ours / 1e9, c.least.largest("factor_rss_bytes") / kMebi,
      c.cholmod.largest("factor_rss_bytes") / kMebi,
      c.least.largest("factor_rss_bytes") / c.cholmod.largest("factor_rss_bytes"),
      c.least.largest("peak_rss_bytes") / kMebi, error, kept ? "yes" : "NO");
  std::fflush(stdout);
  return kept && error <= 1e-14;
}

std::vector<std::string> expand(const std::vector<std::string>& inputs) {
  std::vector<std::string> out;
  for (const std::string& input : inputs) {
    if (!std::filesystem::is_directory(input)) {
      out.push_back(input);
      continue;
    }
    const auto before = static_cast<std::ptrdiff_t>(out.size());
    for (const auto& entry : std::filesystem::directory_iterator(input))
      if (entry.path().string().find(".mtx") != std::string::npos)
        out.push_back(entry.path().string());
    std::sort(out.begin() + before, out.end());
  }
  return out;
}

int compare(const Options& options) {
  const std::string bin =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  fmt::print(
      "Seconds: medians of {} runs, {} workers or BLAS threads. MiB: growth while "
      "factorising.\n\n",
      options.repeat, options.workers);
  fmt::print(
      "{:<28} {:>8} {:>8} {:>8} {:>8} {:>6} {:>8} {:>6} {:>6} {:>8} {:>8} {:>6} "
      "{:>8} {:>8} {:>5}\n",
      "matrix", "n", "flops", "ours s", "at min", "/ours", "CHOLMOD", "ratio", "GF/s",
      "min MiB", "CHOLMOD", "ratio", "VmHWM", "error", "kept");
  bool good = true;
  json all = json::array();
  for (const std::string& input : expand(options.inputs)) {
    Comparison c(bin, input, options.workers);
    for (int i = 0; i < options.repeat; ++i) c.repeat();
    c.quarter_more.repeat();
    const std::string name = std::filesystem::path(input).filename().string();
    good = print_row(name, c) && good;
    all.push_back({{"input", name},
                   {"unbounded", c.unbounded.runs},
                   {"least", c.least.runs},
                   {"quarter_more", c.quarter_more.runs},
                   {"cholmod", c.cholmod.runs}});
  }
  if (!options.json_file.empty()) std::ofstream(options.json_file) << all.dump(1) << '\n';
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("The solver beside CHOLMOD");
  app.add_option("--repeat", options.repeat, "Runs of each")->check(CLI::Range(1, 99));
  app.add_option("--workers", options.workers, "Workers, and BLAS threads of CHOLMOD")
      ->check(CLI::Range(1, 1024));
  app.add_option("--json", options.json_file, "Also write every run to this file");
  app.add_option("INPUT", options.inputs, "Matrix, grid:NXxNYxNZ or folder")
      ->default_val(
          std::vector<std::string>{"grid:40x40x40", "grid:60x60x60", "grid:1000x1000x1"});
  CLI11_PARSE(app, argc, argv);
  try {
    return compare(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "solver_bench: {}\n", error.what());
    return 3;
  }
}
