// All options of `espalier solve`, and which do not go together: over 300 lines.

#include "cli/solve_options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/number_option.h"
#include "cli/paths.h"
#include "cli/remedy.h"
#include "cli/report_option.h"
#include "cli/results_apart.h"
#include "cli/solve_results.h"
#include "espalier/model/error.h"
#include "solver/api/part_path.h"
#include "solver/io/matrix_market_header.h"
#include "solver/runtime/runtime.h"

namespace espalier::cli {
namespace {

using solver::FactorKind;
using solver::FrontGrids;
using solver::Precision;
using Scaling = solver::PrepareOptions::Scaling;

// "RE,IM", or a real number.
solver::Complex parse_shift(const std::string& text) {
  std::array<double, 2> parts{};
  std::string_view rest = text;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const std::size_t comma = k == 0 ? rest.find(',') : std::string_view::npos;
    const std::string fault = solver::parse_value(rest.substr(0, comma), parts[k]);
    if (!fault.empty())
      throw CLI::ValidationError("--shift",
                                 fmt::format("'{}' is not RE,IM: two numbers", text));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return {parts[0], parts[1]};
}

void add_shift(CLI::App& app, MatrixSource& source) {
  app.add_option_function<std::string>(
         "--shift",
         [&source](const std::string& text) { source.shift = parse_shift(text); },
         "Added to the diagonal of --grid, RE + i IM: a complex\n"
         "symmetric matrix, as of Helmholtz's equation")
      ->type_name("RE,IM");
}

void add_input(CLI::App& app, SolveOptions& options) {
  app.add_option("MATRIX", options.source.file,
                 "Matrix Market or Rutherford-Boeing file, plain or gzip");
  app.add_option("--grid", options.source.grid,
                 "Instead of a file: the Laplacian of a grid, as 40x40x40");
  add_shift(app, options.source);
  app.add_option("--factor", options.factor,
                 "Instead of a matrix: a factorisation that --save wrote")
      ->type_name("FILE");
  app.add_option("--rhs", options.rhs,
                 "Right-hand sides: a Matrix Market array, or coordinate\n"
                 "for sparse ones (default: A times ones)");
  app.add_option("--out", options.out, "Write the solutions to this file");
  app.add_option("--save", options.save,
                 "Write the factorisation to this file, for --factor")
      ->type_name("FILE");
  app.add_option("--trace", options.trace,
                 "Write every task of the factorisation to this file, for\n"
                 "plan --replay; in core, in one process")
      ->type_name("FILE");
  whole(app.add_option("--repeat", options.repeat,
                       "Factorise so many times, as with new values: the memory of one\n"
                       "serves the next. The report is of the last; a trace has the\n"
                       "median of each task's times, of the last nine at most")
            ->type_name("TIMES"),
        1, 1'000'000);
  app.add_flag("--transposed", options.transposed,
               "Solve with the transposed matrix: A^T x = b");
  app.add_flag("--conjugate-transposed", options.conjugate_transposed,
               "Likewise, conjugated: A^H x = b")
      ->excludes("--transposed");
}

void add_numerics(CLI::App& app, SolveOptions& options) {
  add_kind(app, options.solver.kind);
  add_choice<Precision>(app, "--precision", options.solver.precision,
                        {{"double", Precision::kDouble}, {"single", Precision::kSingle}},
                        "Of the factor; refinement is in double precision");
  add_choice<Scaling>(app, "--scaling", options.solver.prepare.scaling,
                      {{"auto", Scaling::kAuto},
                       {"none", Scaling::kNone},
                       {"equilibrate", Scaling::kEquilibrate},
                       {"matching", Scaling::kMatching}},
                      "Of rows and columns before the factorisation");
  in_range(
      app.add_option("--pivot-threshold", options.pivot_threshold,
                     "Smaller pivots are delayed: no entry of the factor is\n"
                     "beyond 1 / U; 0 < U <= 1; symmetric and general")
          ->type_name("U"),
      [](double threshold) { return threshold > 0 && threshold <= 1; },
      "above 0 and up to 1")
      ->default_str(fmt::format("{}", options.solver.pivot_threshold));
  in_range(
      app.add_option("--low-rank", options.solver.low_rank,
                     "Block low rank: tiles of large fronts are compressed, up\n"
                     "to TOL of the matrix; 0: none; spd, in core")
          ->type_name("TOL"),
      [](double tolerance) { return tolerance >= 0 && tolerance < 1; },
      "from 0 on and below 1");
  app.add_flag("--no-refine", options.no_refine, "No iterative refinement");
  app.add_flag("--estimate-errors", options.solver.estimate_errors,
               "Condition number and bound of the error: a few more solves");
}

void add_front_grids(CLI::App& app, FrontGrids& grids) {
  add_choice<FrontGrids>(app, "--front-grids", grids,
                         {{"never", FrontGrids::kNever},
                          {"volume", FrontGrids::kByVolume},
                          {"always", FrontGrids::kAlways}},
                         "Whether fronts that processes share are in tiles over\n"
                         "grids of them; by volume: where a process receives less\n"
                         "by a quarter; with --kind, on several processes");
}

void add_bound(CLI::App& app, SolveOptions& options) {
  add_memory(app, options.memory, "none");
  const auto read = [&options](const std::string& text) {
    try {
      options.delay_reserve = parse_size(text);
    } catch (const Error& error) {
      throw CLI::ValidationError("--delay-reserve", error.what());
    }
  };
  app.add_option_function<std::string>(
         "--delay-reserve", read,
         "Part of the bound kept for pivots that have to be delayed\n"
         "(1 MiB and a quarter of what the bound has beyond the\n"
         "least, or all that nothing else could use); beyond it\n"
         "they are taken as they are (static pivoting)")
      ->type_name("SIZE");
  app.add_option("--out-of-core", options.solver.out_of_core,
                 "Directory for what does not fit in the bound; with it,\n"
                 "--memory min is the least out of core, xFACTOR is of the\n"
                 "least in core")
      ->type_name("DIR");
}

// What was decided when the factorisation was made.
void refuse_beside_factor(CLI::App& app) {
  app.parse_complete_callback([&app] {
    if (app.count("--factor") == 0) return;
    for (const char* other :
         {"MATRIX",        "--grid",      "--shift",         "--save",
          "--kind",        "--precision", "--scaling",       "--pivot-threshold",
          "--trace",       "--memory",    "--delay-reserve", "--out-of-core",
          "--ordering",    "--order",     "--mapping",       "--low-rank",
          "--front-grids", "--explain",   "--report",        "--schur",
          "--repeat"})
      if (app.count(other) > 0)
        throw CLI::ExcludesError(
            fmt::format("--factor goes without {}: the file has decided it", other),
            CLI::ExitCodes::ExcludesError);
  });
}

// What is for L L^T alone, or for all but it.
void check_what_kind_has(const SolveOptions& options) {
  const bool spd = options.solver.kind == FactorKind::kCholesky;
  if (spd && options.delay_reserve)
    throw Refused(fmt::format("--delay-reserve {}: --kind spd delays no pivots",
                              format_size(*options.delay_reserve)),
                  drop_option("--delay-reserve"));
  if (spd && options.pivot_threshold)
    throw Refused(fmt::format("--pivot-threshold {}: --kind spd chooses no pivots",
                              *options.pivot_threshold),
                  drop_option("--pivot-threshold"));
  if (spd && options.solver.prepare.scaling == Scaling::kMatching)
    throw Refused(
        "--scaling matching: --kind spd has its pivots on the diagonal; "
        "take equilibrate or auto",
        set_option("--scaling", "auto"));
  if (!options.solver.kind && options.solver.front_grids != FrontGrids::kNever)
    throw Refused("--front-grids: what may go on as another kind has none, take --kind",
                  drop_option("--front-grids"));
}

void check_low_rank(const SolveOptions& options) {
  const double tolerance = options.solver.low_rank;
  if (tolerance == 0) return;
  if (options.solver.kind && options.solver.kind != FactorKind::kCholesky)
    throw Refused(
        fmt::format("--low-rank {}: L L^T alone is compressed, --kind spd", tolerance),
        drop_option("--low-rank"));
  for (const auto& [option, value] :
       {std::pair("--out-of-core", &options.solver.out_of_core),
        std::pair("--save", &options.save)})
    if (!value->empty())
      throw Refused(
          fmt::format("--low-rank {}: not with {} {}, which takes panels as they "
                      "were laid out",
                      tolerance, option, *value),
          drop_option("--low-rank"));
}

// The file takes the place of what has its name: no device.
void check_save(const std::string& save) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::exists(save, ignored) && !fs::is_regular_file(save, ignored))
    throw Refused(fmt::format("--save {}: is not a plain file", save),
                  drop_option("--save"));
  check_file("--save", save);
}

// Solutions may take the place of their right-hand sides.
void check_apart(const SolveOptions& options) {
  std::vector<NamedFile> inputs = {{"MATRIX", options.source.file},
                                   {"--schur", options.schur}};
  Remedy without_out = drop_option("--out");
  if (!options.schur.empty()) without_out.edits.push_back({Edit::Kind::kDrop, "--schur"});
  std::vector<NamedFile> results = {
      {"--out", options.out, without_out},
      {"--trace", options.trace, drop_option("--trace")},
      {"--null-space", options.null_space, drop_option("--null-space")},
      {"--report", options.page, drop_option("--report")}};
  const auto add_parts = [&](std::vector<NamedFile>& to, const char* option,
                             const std::string& path) {
    for (std::int32_t process = 0; !path.empty() && process < options.processes;
         ++process)
      to.push_back({option, solver::part_path(path, process), drop_option(option)});
  };
  add_parts(inputs, "--factor", options.factor);
  add_parts(results, "--save", options.save);
  check_results_apart(inputs, results);
  const NamedFile rhs{"--rhs", options.rhs};
  check_results_apart({&rhs, 1}, std::span(results).subspan(1));
}

void check_paths(const SolveOptions& options) {
  if (!options.out.empty()) check_result("--out", options.out);
  if (!options.trace.empty()) check_result("--trace", options.trace);
  if (!options.save.empty()) check_save(options.save);
  if (!options.page.empty()) check_result("--report", options.page);
  if (is_first_process()) check_apart(options);
  const std::string& directory = options.solver.out_of_core;
  if (directory.empty()) return;
  check_directory("--out-of-core", directory);
}

}  // namespace

void add_solve_options(CLI::App& app, SolveOptions& options) {
  options.solver.workers = solver::default_workers();
  add_input(app, options);
  add_numerics(app, options);
  add_bound(app, options);
  add_workers(app, options.solver.workers);
  add_ordering(app, options.solver.analysis.ordering);
  add_order_kind(app, options.solver.order);
  add_mapping(app, options.solver.mapping);
  add_front_grids(app, options.solver.front_grids);
  app.add_option("--scheduler", options.solver.scheduler,
                 "espalier, or a policy of StarPU's own, which keeps no bound");
  app.add_flag("--explain", options.explain,
               "Say what makes up the least bound and the peak, to the byte");
  add_results(app, options);
  add_report(app, options.page);
  add_json(app, options.json);
  refuse_beside_factor(app);
}

void check_combinations(const SolveOptions& options) {
  const MatrixSource& source = options.source;
  if (options.factor.empty() && source.file.empty() == source.grid.empty())
    throw Refused("solve: give either a matrix file, --grid or --factor",
                  one_source(source));
  if (source.shift && source.grid.empty())
    throw Refused("--shift: belongs to --grid", drop_option("--shift"));
  if (!options.solver.out_of_core.empty() && !options.bounded())
    throw Refused(
        fmt::format("--out-of-core {}: needs a bound, --memory SIZE, min or xFACTOR",
                    options.solver.out_of_core),
        set_option("--memory", "min"));
  if (options.delay_reserve && !options.bounded())
    throw Refused(
        fmt::format("--delay-reserve {}: without --memory, delayed pivots have no limit",
                    format_size(*options.delay_reserve)),
        set_option("--memory", "min"));
  check_what_kind_has(options);
  check_low_rank(options);
  if (!options.trace.empty() && !options.solver.out_of_core.empty())
    throw Refused(
        fmt::format("--trace {}: not with --out-of-core, where tasks wait for a file",
                    options.trace),
        drop_option("--out-of-core"));
  if (options.solver.scheduler != "espalier" && options.bounded())
    throw Refused(
        fmt::format("--memory: scheduler '{}' keeps no bound; leave one of them out",
                    options.solver.scheduler),
        drop_option("--scheduler"));
}

void check(SolveOptions& options) {
  check_combinations(options);
  check_runtime({options.solver.workers, options.solver.scheduler});
  check_paths(options);
  check_results(options);
  options.transposed |= options.conjugate_transposed;
  options.solver.refine = !options.no_refine;
  options.solver.record_run = !options.trace.empty();
  if (options.pivot_threshold) options.solver.pivot_threshold = *options.pivot_threshold;
  if (options.delay_reserve) options.solver.delay_reserve = *options.delay_reserve;
}

std::string_view name(Precision precision) {
  return precision == Precision::kSingle ? "single" : "double";
}

std::string_view scaling_name(const solver::PrepareOptions& asked,
                              const solver::PreparedMatrix& prepared) {
  if (asked.scaling == Scaling::kNone ||
      (prepared.row_scale.empty() && prepared.row_of.empty() && prepared.partner.empty()))
    return "none";
  return asked.scaling == Scaling::kEquilibrate || prepared.kind == FactorKind::kCholesky
             ? "equilibrate"
             : "matching";
}

}  // namespace espalier::cli
