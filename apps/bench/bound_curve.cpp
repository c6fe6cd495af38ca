// What a bound costs: time of the factorisation and bytes written over the bound, beside
// MUMPS in core and out of core, which are all that it offers.
//
//   bound_curve [--kind KIND] [--points N] [--repeat N] [--workers N] [--timeout SECONDS]
//               [--json FILE] [--picture FILE] --out-of-core DIR INPUT
//
// Ours is run at N bounds, evenly spaced from the least that suffices out of core to the
// least that suffices in core. Memory is compared as growth of the resident set while
// factorising: a bound of ours is on the whole process, MUMPS's on its own arrays.
//
// Exit status 1 when a run of ours failed or went beyond its bound.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench_program.h"
#include "solver_picture.h"
#include "solver_runs.h"

namespace {

using namespace espalier::bench;
using nlohmann::json;

struct Options {
  System system{"grid:60x60x60", "spd", 2};
  int points = 10, repeat = 3, timeout = 600;
  std::string folder, json_file, picture;
};

struct Point {
  std::int64_t bound = 0;  ///< 0: none was given
  Series series;
};

json probe(const Options& options, const std::string& memory) {
  const Outcome outcome = run_command(
      our_command(options.system, "--ordering metis --out-of-core " +
                                      quoted(options.folder) + " --memory " + memory),
      options.timeout);
  if (!outcome.json)
    throw std::runtime_error("espalier solve --memory " + memory + ": " +
                             outcome.failure);
  return *outcome.json;
}

std::vector<Point> our_points(const Options& options) {
  const json least = probe(options, "min");
  const auto low = least.at("out_of_core_least_bytes").get<std::int64_t>();
  const auto high = least.at("least_bytes").get<std::int64_t>();
  std::vector<Point> points;
  for (int i = 0; i < options.points; ++i) {
    const std::int64_t bound = low + (high - low) / (options.points - 1) * i;
    const std::string command = our_command(
        options.system, fmt::format("--ordering metis --out-of-core {} --memory {}",
                                    quoted(options.folder), bound));
    points.push_back({bound, {{"espalier", "Espalier", command}, {}, {}}});
  }
  return points;
}

std::vector<Point> mumps_points(const Options& options) {
  if (!peer("mumps", options.system)) return {};
  const auto point = [&](const std::string& label, const std::string& more) {
    return Point{
        0, {{"mumps", label, peer_command("mumps_peer", options.system, more)}, {}, {}}};
  };
  return {point("MUMPS in core", ""),
          point("MUMPS out of core", "--out-of-core " + quoted(options.folder))};
}

double written(const Series& s) {
  return s.runs.front().contains("bytes_written") ? s.median("bytes_written") : 0;
}

double mebi(double bytes) { return bytes / (1024 * 1024); }

void print_point(const Point& point) {
  const Series& s = point.series;
  fmt::print("{:<18} {:>9}", s.way.label,
             point.bound == 0
                 ? "-"
                 : fmt::format("{:.0f}", mebi(static_cast<double>(point.bound))));
  if (s.solved())
    fmt::print(" {:>9.0f} {:>9.3f} {:>9.3f} {:>9.0f} {:>6}", mebi(s.peak_bytes()),
               s.median("factor_seconds"), s.median("solve_seconds"), mebi(written(s)),
               !s.way.ours()    ? ""
               : s.bound_kept() ? "yes"
                                : "NO");
  else
    fmt::print(" {:>9}", s.failure);
  fmt::print("\n");
}

// Blocks of gnuplot: ours, then a block for each point of MUMPS.
void write_data(const std::vector<Point>& points, std::ostream& out) {
  std::string label;
  for (const Point& point : points) {
    if (point.series.way.label != label) {
      out << (label.empty() ? "" : "\n\n");
      label = point.series.way.label;
      out << fmt::format("\"{}\" \"seconds\" \"MiB written\"\n", label);
    }
    const Series& s = point.series;
    if (s.solved())
      out << fmt::format("{:.1f} {:.4f} {:.1f}\n", mebi(s.peak_bytes()),
                         s.median("factor_seconds"), mebi(written(s)));
  }
}

void write_results(const std::vector<Point>& points, const Options& options) {
  json all = json::array();
  for (const Point& point : points)
    all.push_back({{"label", point.series.way.label},
                   {"bound_bytes", point.bound},
                   {"failure", point.series.failure},
                   {"runs", point.series.runs}});
  if (!options.json_file.empty()) {
    std::ofstream out(options.json_file);
    out << json{{"input", options.system.input},
                {"kind", options.system.kind},
                {"points", all}}
               .dump(1)
        << '\n';
    if (!out.flush()) throw std::runtime_error("cannot write " + options.json_file);
  }
  if (options.picture.empty()) return;
  const std::string data = options.picture + ".dat";
  std::ofstream out(data);
  write_data(points, out);
  if (!out.flush()) throw std::runtime_error("cannot write " + data);
  const auto blocks = std::to_string(points.back().series.way.name == "mumps" ? 3 : 1);
  run_gnuplot("bound_curve.gp", {data, options.picture, blocks,
                                 options.system.input + ", " + options.system.kind});
}

int measure_curve(const Options& options) {
  fmt::print("Kernels of OpenBLAS: {}\n", choose_blas_kernel());
  std::vector<Point> points = our_points(options);
  for (Point& point : mumps_points(options)) points.push_back(std::move(point));
  for (int i = 0; i < options.repeat; ++i)
    for (Point& point : points) point.series.run_again(options.timeout);
  fmt::print("{:<18} {:>9} {:>9} {:>9} {:>9} {:>9} {:>6}\n", "", "bound MiB", "MiB",
             "factor s", "solve s", "written", "kept");
  bool good = true;
  for (const Point& point : points) {
    print_point(point);
    const Series& s = point.series;
    good = good && (!s.way.ours() || (s.solved() && s.bound_kept()));
  }
  write_results(points, options);
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("What a bound costs in time and in bytes written");
  app.add_option("INPUT", options.system.input, "Matrix file or grid:NXxNYxNZ");
  app.add_option("--kind", options.system.kind)
      ->check(CLI::IsMember({"spd", "symmetric", "general"}));
  app.add_option("--out-of-core", options.folder, "Folder for factors")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("--points", options.points, "Bounds")->check(CLI::Range(2, 99));
  add_repeat(app, options.repeat);
  add_workers(app, options.system.workers);
  add_timeout(app, options.timeout);
  add_json(app, options.json_file);
  app.add_option("--picture", options.picture, "Draw it: *.svg or *.png");
  return parse_and_run(app, argc, argv, [&] { return measure_curve(options); });
}
