// espalier solve: one sparse symmetric positive definite system inside a memory bound.

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/ordering_option.h"
#include "cli/output.h"
#include "solver/bounded_job.h"
#include "solver/grid.h"
#include "solver/matrix_market.h"
#include "solver/process_memory.h"
#include "solver/vector_io.h"

namespace espalier::cli {
namespace {

using solver::BoundedJob;

enum class Kind { kAuto, kSpd };

struct SolveOptions {
  std::string matrix, grid, rhs, out;
  Kind kind = Kind::kAuto;
  MemoryRequest memory{.kind = MemoryRequest::Kind::kUnbounded};
  solver::JobOptions job;
  bool json = false;
};

// A backward error beyond this is a solution that must not be trusted.
constexpr double kGoodBackwardError = 1e-12;

solver::SymmetricMatrix read_input(const SolveOptions& options) {
  if (!options.grid.empty()) return solver::make_grid(solver::parse_grid(options.grid));
  return solver::read_matrix_market(options.matrix);
}

std::string input_name(const SolveOptions& options) {
  return options.grid.empty() ? options.matrix : "grid " + options.grid;
}

void report_system(Report& report, const SolveOptions& options, const BoundedJob& job) {
  const solver::Symbolic& symbolic = job.analysis().symbolic;
  report.text("matrix", "matrix", input_name(options));
  report.count("size", "order", symbolic.size);
  report.count("entries", "entries (lower triangle)",
               static_cast<std::int64_t>(job.analysis().permuted.lower.row.size()));
  report.text("ordering", "ordering", solver::name(options.job.analysis.ordering));
  report.text("order", "traversal", name(options.job.order));
  report.text("mapping", "mapping", name(options.job.mapping));
  report.text("scheduler", "scheduler", options.job.scheduler);
  report.count("workers", "workers", options.job.workers);
  report.count("factor_entries", "entries of the factor", symbolic.factor_entries);
  report.flops("factor_flops", "work of the factorisation", symbolic.factor_flops);
  report.count("fronts", "fronts", symbolic.fronts());
  report.count("nodes", "nodes of the task tree",
               static_cast<std::int64_t>(job.tree().nodes.size()));
}

// Nothing in the report's figures is estimated after the fact: what the gate booked, what
// the fronts really took, and what the system counts for the process.
void report_memory(Report& report, const BoundedJob& job, std::optional<Bytes> bound,
                   const solver::FactorReport& run) {
  report.heading("Memory");
  report.bytes("least_bytes", "least bound that suffices", job.memory().least());
  if (bound) report.bytes("bound_bytes", "bound on the process", *bound);
  report.bytes("peak_rss_bytes", "peak of the process (VmHWM)", job.peak_resident());
  report.bytes("baseline_rss_bytes", "  resident before the first front",
               job.memory().baseline);
  report.bytes("factor_rss_bytes", "  growth while factorising", job.factor_growth());
  report.bytes("booked_peak_bytes", "fronts: most that was booked", run.booked_peak);
  report.bytes("peak_bytes", "fronts: most that was allocated", run.allocated_peak);
  report.bytes("analysis_peak_bytes", "", job.memory().analysis_peak);
  report.bytes("reserve_bytes", "", job.memory().reserve);
  if (bound) report.flag("bound_kept", "bound kept", job.peak_resident() <= *bound);
}

void report_time(Report& report, const SolveOptions& options, const BoundedJob& job,
                 Seconds read_seconds, const solver::FactorReport& run,
                 const solver::Solution& solution) {
  report.heading("Time");
  report.seconds("read_seconds", "read", read_seconds);
  report.seconds("analyse_seconds", "analyse", job.analyse_seconds());
  report.seconds("ordering_seconds", "  ordering", job.analysis().seconds.ordering);
  report.seconds("factor_seconds", "factor", run.seconds);
  report.flops("factor_flops_per_second", "  rate a second",
               job.analysis().symbolic.factor_flops / run.seconds);
  if (run.busy_seconds > 0)
    report.ratio("busy_ratio", "  part that workers were busy",
                 run.busy_seconds / (run.seconds * options.job.workers));
  report.seconds("gate_seconds", "  tasks waited at the gate, in all", run.held_seconds);
  report.seconds("solve_seconds", "solve", solution.seconds);
  report.seconds("refine_seconds", "refine", solution.refine_seconds);
  report.count("tasks", "tasks", run.tasks);
  report.count("stolen_tasks", "  run outside their worker set", run.stolen_tasks);
}

std::vector<double> right_hand_sides(const SolveOptions& options, std::int64_t size) {
  if (options.rhs.empty()) return {};
  return solver::read_vectors(options.rhs, size).values;
}

// Solves for each column of `b` in turn, in place. @return the worst of the results
solver::Solution solve_columns(BoundedJob& job, std::vector<double>& b, std::size_t n) {
  solver::Solution worst;
  for (std::size_t begin = 0; begin < b.size(); begin += n) {
    const solver::Solution one = job.solve(std::span(b).subspan(begin, n));
    worst.seconds += one.seconds;
    worst.refine_seconds += one.refine_seconds;
    worst.refinement.steps = std::max(worst.refinement.steps, one.refinement.steps);
    worst.refinement.backward_error =
        std::max(worst.refinement.backward_error, one.refinement.backward_error);
  }
  return worst;
}

ExitStatus conclude(const SolveOptions& options, const BoundedJob& job,
                    std::optional<Bytes> bound, double backward_error) {
  ExitStatus status = kDone;
  if (bound && job.peak_resident() > *bound) {
    fmt::print(stderr, "espalier: the peak {} is above the bound {}\n",
               format_size(job.peak_resident()), format_size(*bound));
    status = kNo;
  }
  if (!(backward_error <= kGoodBackwardError)) {
    fmt::print(stderr,
               "espalier: {}: the solution is not to be trusted: backward error {:.1e}\n",
               input_name(options), backward_error);
    status = kNo;
  }
  return status;
}

// The answer "not positive definite" names the column as in the file: from 1.
ExitStatus not_definite(const SolveOptions& options, Report report,
                        const solver::BadPivot& bad) {
  fmt::print(stderr,
             "espalier: {}: not positive definite: no positive pivot in column {}\n",
             input_name(options), bad.column + 1);
  report.flag("positive_definite", "positive definite", false);
  report.count("failed_column", "failed column", bad.column + 1);
  if (options.json) report.print(true);
  return kNo;
}

ExitStatus run_solve(const SolveOptions& options) {
  solver::keep_heap_small();
  std::optional<Progress> progress(std::in_place, "reading");
  const auto start = std::chrono::steady_clock::now();
  solver::SymmetricMatrix matrix = read_input(options);
  const auto n = static_cast<std::size_t>(matrix.size);
  std::vector<double> b = right_hand_sides(options, matrix.size);
  const Seconds read_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  BoundedJob job(std::move(matrix), options.job,
                 [&](std::string_view step) { progress->step(step); });
  Report report;
  report_system(report, options, job);
  std::optional<Bytes> bound;
  if (options.memory.kind != MemoryRequest::Kind::kUnbounded)
    bound = options.memory.resolve(job.memory().least(), 0);
  if (const auto planned = job.plan(bound); !planned) {
    progress.reset();
    print_infeasible(report, planned.error(), options.json);
    return kNo;
  }
  progress->step("factorising");
  const auto run = job.factorise([&](double part) { progress->update(part); });
  if (!run) {
    progress.reset();
    return not_definite(options, report, run.error());
  }
  progress->step("solving");
  const bool known = b.empty();
  if (known) b = job.row_sums();
  const solver::Solution solution = solve_columns(job, b, n);
  if (!options.out.empty())
    solver::write_vectors(options.out, b, static_cast<std::int64_t>(n));
  progress.reset();

  report_memory(report, job, bound, *run);
  report_time(report, options, job, read_seconds, *run, solution);
  report.heading("Result");
  report.number("backward_error", "componentwise backward error",
                solution.refinement.backward_error);
  report.count("refinement_steps", "steps of refinement", solution.refinement.steps);
  if (known) {
    double error = 0;
    for (const double x : b) error = std::max(error, std::abs(x - 1));
    report.number("forward_error", "error of the known solution", error);
  }
  report.print(options.json);
  return conclude(options, job, bound, solution.refinement.backward_error);
}

// Whatever can be refused is refused before the work.
void check(const SolveOptions& options) {
  if (options.matrix.empty() == options.grid.empty())
    throw InvalidInput("solve: give either a matrix file or --grid");
  solver::check({options.job.workers, options.job.scheduler});
  if (!options.out.empty()) {
    const auto folder = std::filesystem::absolute(options.out).parent_path();
    if (access(folder.c_str(), W_OK) != 0)
      throw FileError(options.out, 0,
                      fmt::format("cannot be written: {}", std::strerror(errno)));
  }
  if (options.job.scheduler != "espalier" &&
      options.memory.kind != MemoryRequest::Kind::kUnbounded)
    throw InvalidInput(
        fmt::format("--memory: scheduler '{}' keeps no bound; leave one of them out",
                    options.job.scheduler));
}

}  // namespace

Command add_solve(CLI::App& program) {
  auto options = std::make_shared<SolveOptions>();
  options->job.workers = solver::default_workers();
  CLI::App* app = program.add_subcommand(
      "solve", "Solve a sparse symmetric positive definite system inside a memory bound");
  app->add_option("MATRIX", options->matrix, "Matrix Market file, plain or gzip");
  app->add_option("--grid", options->grid,
                  "Instead of a file: the Laplacian of a grid, as 40x40x40");
  app->add_option("--rhs", options->rhs,
                  "Right-hand sides: a Matrix Market array (default: A times ones)");
  app->add_option("--out", options->out, "Write the solution to this file");
  add_choice<Kind>(*app, "--kind", options->kind,
                   {{"auto", Kind::kAuto}, {"spd", Kind::kSpd}}, "Kind of matrix");
  add_memory(*app, options->memory, "none");
  add_workers(*app, options->job.workers);
  add_ordering(*app, options->job.analysis.ordering);
  add_order(*app, options->job.order);
  add_mapping(*app, options->job.mapping);
  app->add_option("--scheduler", options->job.scheduler,
                  "espalier, or a policy of StarPU's own, which keeps no bound");
  add_json(*app, options->json);
  return {app, [options] {
            check(*options);
            return run_solve(*options);
          }};
}

}  // namespace espalier::cli
