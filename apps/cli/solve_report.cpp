// One report, part by part: over 300 lines.

#include "cli/solve_report.h"
#include "cli/limits_note.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "cli/solve_complex.h"
#include "cli/solve_memory_report.h"
#include "espalier/model/exact_size.h"

namespace espalier::cli {
namespace {

using solver::FactorKind;
using solver::Precision;
using solver::Solver;

// L U has two triangles, and works on both.
double sides(const Solver& solver) { return solver.kind() == FactorKind::kLu ? 2 : 1; }

double factor_flops(const Solver& solver) {
  return sides(solver) * solver.analysis().symbolic.factor_flops;
}

// How the factorisation was arrived at; of a saved one that is not known.
void report_choices(Report& report, const SolveOptions& options, const Solver& solver) {
  report.text("scaling", "scaling",
              scaling_name(options.solver.prepare, solver.prepared()));
  report_ordering(report, options.solver.analysis.ordering,
                  solver.analysis().seconds.ordering_taken);
  report_orders(report, solver);
  report.text("order", "traversal", name(options.solver.order));
  report.text("mapping", "mapping", name(options.solver.mapping));
}

void report_system(Report& report, const SolveOptions& options, const Solver& solver,
                   std::int64_t entries) {
  const solver::Symbolic& symbolic = solver.analysis().symbolic;
  const bool lu = solver.kind() == FactorKind::kLu;
  const bool saved = !options.factor.empty();
  report.text(saved ? "factor" : "matrix", saved ? "saved factorisation" : "matrix",
              options.input_name());
  report.count("size", "order", symbolic.size);
  if (symbolic.kept() > 0)
    report.count("schur_size", "order of the Schur complement", symbolic.kept());
  if (!saved) report.count("entries", "entries, as read", entries);
  report_scalar(report, solver);
  report.text("kind", "kind", name(solver.kind()));
  report.text("precision", "precision", name(solver.precision()));
  if (solver.prepared().structural_rank < symbolic.size)
    report.count("structural_rank", "structural rank", solver.prepared().structural_rank);
  if (!saved) report_choices(report, options, solver);
  report.text("scheduler", "scheduler", options.solver.scheduler);
  report.count("workers", "workers", options.solver.workers);
  report.count(
      "factor_entries", "entries of the factor",
      lu ? 2 * symbolic.factor_entries - symbolic.size : symbolic.factor_entries);
  report.flops("factor_flops", "work of the factorisation", factor_flops(solver));
  report.count("fronts", "fronts", symbolic.fronts());
  report.count("nodes", "nodes of the task tree",
               static_cast<std::int64_t>(solver.tree().nodes.size()));
}

void report_factor_time(Report& report, const SolveOptions& options, const Solver& solver,
                        const SolveRun& run) {
  const solver::FactorReport& factor = run.factor;
  report.seconds("analyse_seconds", "analyse", solver.analyse_seconds());
  report.seconds("ordering_seconds", "  ordering", solver.analysis().seconds.ordering);
  report.seconds("factor_seconds", "factor", factor.seconds);
  if (options.repeat > 1) {
    report.count("factorisations", "  the last of so many", options.repeat);
    report.seconds("first_factor_seconds", "  the first", run.first_factor_seconds);
  }
  if (factor.seconds > 0)  // 0: so short that it was not timed
    report.flops("factor_flops_per_second", "  rate a second",
                 factor_flops(solver) / factor.seconds);
  if (factor.busy_seconds > 0)
    report.ratio("busy_ratio", "  part that workers were busy",
                 factor.busy_seconds / (factor.seconds * options.solver.workers));
  report.seconds("gate_seconds", "  tasks waited at the gate, in all",
                 factor.held_seconds);
  report.count("tasks", "  tasks", factor.tasks);
  report.count("stolen_tasks", "  run outside their worker set", factor.stolen_tasks);
}

void report_time(Report& report, const SolveOptions& options, const Solver& solver,
                 const SolveRun& run) {
  const bool saved = !options.factor.empty();
  report.heading("Time");
  report.seconds("read_seconds", saved ? "load" : "read", run.read_seconds);
  if (!saved) report_factor_time(report, options, solver, run);
  report.seconds("solve_seconds", "solve", run.solution.seconds);
  report.seconds("refine_seconds", "refine", run.solution.refine_seconds);
  if (!options.solver.out_of_core.empty()) {
    const solver::SpillFile::Counters io = solver.spilled();
    report.seconds("io_seconds", "in reads and writes out of core, of all threads",
                   io.write_seconds + io.read_seconds);
  }
  if (!options.save.empty()) report.seconds("save_seconds", "save", run.save_seconds);
}

// Of a factorisation that was loaded, which no bound was asked for.
void report_saved_memory(Report& report, const Solver& solver, const SolveRun& run) {
  if (run.processes)
    report.count("processes", "processes", std::ssize(run.processes->peak));
  report.bytes(
      "peak_rss_bytes",
      run.processes ? "largest peak of a process" : "peak of the process (VmHWM)",
      run.peak_resident(solver));
}

void report_inertia(Report& report, std::int64_t size,
                    const solver::PivotStatistics& pivots) {
  report.count("positive_eigenvalues", "positive eigenvalues",
               size - pivots.negative - pivots.null_space);
  report.count("negative_eigenvalues", "negative eigenvalues", pivots.negative);
  report.count("zero_eigenvalues", "zero eigenvalues", pivots.null_space);
}

void report_pivots(Report& report, const Solver& solver, const SolveRun& run) {
  if (run.cholesky_failed) report.flag("positive_definite", "positive definite", false);
  if (solver.kind() == FactorKind::kCholesky) return;
  const solver::PivotStatistics& pivots = run.factor.pivots;
  report.heading("Pivots");
  report.count("delayed_pivots", "delayed to a parent", pivots.delayed);
  report.count("not_delayed_pivots", "not delayed, see --delay-reserve",
               pivots.not_delayed);
  report.count("perturbed_pivots", "perturbed", pivots.perturbed);
  report.count("null_space", "zero: estimated null space", pivots.null_space);
  if (solver.kind() != FactorKind::kLdlt) return;
  report.count("two_by_two_pivots", "of order 2", pivots.two_by_two);
  if (solver.complex() != solver::ComplexSymmetry::kSymmetric)
    report_inertia(report, solver.analysis().symbolic.inner(), pivots);
}

// What compression did, where it was asked for.
void report_low_rank(Report& report, const SolveOptions& options, const SolveRun& run) {
  if (options.solver.low_rank == 0 || !options.factor.empty()) return;
  const solver::LowRankStatistics& done = run.factor.low_rank;
  report.heading("Block low rank");
  report.number("low_rank_tolerance", "tolerance", options.solver.low_rank);
  report.count("low_rank_blocks", "blocks of large fronts", done.blocks);
  report.count("low_rank_compressed", "  compressed", done.compressed);
  report.ratio("low_rank_mean", "  mean rank of these",
               done.compressed > 0 ? static_cast<double>(done.rank_sum) /
                                         static_cast<double>(done.compressed)
                                   : 0);
  report.count("low_rank_max", "  largest", done.rank_max);
  report.count("low_rank_single", "  blocks in single precision", done.single);
  report.bytes("low_rank_full_bytes", "panels of these fronts in full", done.full_bytes);
  report.bytes("low_rank_bytes", "  compressed", done.bytes);
  report.bytes("low_rank_given_back_bytes", "  given back to the bound",
               run.factor.given_back);
  report.flops("low_rank_full_flops", "updates inside these fronts in full",
               done.full_flops);
  report.flops("low_rank_flops", "  done", done.flops);
}

void report_result(Report& report, const SolveOptions& options, const SolveRun& run) {
  const solver::Refinement& refinement = run.solution.refinement;
  report.heading("Result");
  if (run.complex_determinant) report_determinant(report, *run.complex_determinant);
  if (run.determinant) {
    report.count("determinant_sign", "sign of the determinant", run.determinant->sign());
    if (run.determinant->sign() != 0)
      report.number("determinant_log", "logarithm of its modulus",
                    run.determinant->log_modulus());
  }
  report.count("right_hand_sides", "right-hand sides", run.right_hand_sides);
  if (run.right_hand_sides == 0) return;
  report.flag("transposed", options.transposed ? "transposed" : "", options.transposed);
  report.number("backward_error", "componentwise backward error",
                refinement.backward_error);
  report.count("refinement_steps", "steps of refinement", refinement.steps);
  report.count("gmres_steps", refinement.gmres_steps > 0 ? "steps of GMRES" : "",
               refinement.gmres_steps);
  if (run.solution.errors) {
    if (run.solution.errors->condition_1norm > 0)
      report.number("condition_1norm", "condition number, estimated",
                    run.solution.errors->condition_1norm);
    report.number("forward_error_bound", "bound of the error, estimated",
                  run.solution.errors->forward_error_bound);
  }
  if (run.forward_error)
    report.number("forward_error", "error of the known solution", *run.forward_error);
}

// How it is known that the matrix is singular.
std::string singularity(const Solver& solver) {
  if (solver.null_space() > 0)
    return fmt::format(
        "singular{}: estimated null space of dimension {}",
        solver.precision() == Precision::kSingle ? " in single precision" : "",
        solver.null_space());
  const std::int64_t size = solver.analysis().symbolic.size,
                     rank = solver.prepared().structural_rank;
  if (rank < size) return fmt::format("singular: structural rank {} of {}", rank, size);
  return "singular to working precision: it has a null vector";
}

// Why the solution is not to be trusted; empty: it is.
std::vector<std::string> reasons(const SolveOptions& options, const Solver& solver,
                                 const SolveRun& run) {
  std::vector<std::string> list;
  const solver::Doubts& doubts = run.solution.doubts;
  if (doubts.singular && run.right_hand_sides == 0)
    list.push_back(
        fmt::format("the block of the other variables: {}; "
                    "there is no Schur complement",
                    singularity(solver)));
  else if (doubts.singular)
    list.push_back(fmt::format("{}; {}", singularity(solver),
                               !doubts.backward_error ? "the solution is one of many"
                               : options.solver.refine
                                   ? "the right-hand side seems to be outside the range"
                                   : "there may be no solution, or many"));
  if (doubts.backward_error)
    list.push_back(fmt::format("the solution is not to be trusted: backward error {:.1e}",
                               run.solution.refinement.backward_error));
  if (doubts.forward_error) {
    const double condition = run.solution.errors->condition_1norm;
    list.push_back(fmt::format(
        "the solution is not to be trusted: its error may be {:.1e} of it{}",
        run.solution.errors->forward_error_bound,
        condition > 0 ? fmt::format(" (condition number {:.1e})", condition) : ""));
  }
  return list;
}

void print_line(const SolveOptions& options, std::string_view text) {
  note(fmt::format("{}: {}", options.input_name(), text));
}

// Whether what is told of the factor alone, which nothing refines, may be that of another
// matrix: where the factor has lost more of it than its smallest eigenvalue.
bool tells_of_another(const SolveOptions& options, const Solver& solver,
                      const SolveRun& run) {
  const bool single = solver.precision() == Precision::kSingle;
  const double lost = std::max(options.solver.low_rank, single ? 0x1p-24 : 0);
  const bool inertia = solver.kind() == FactorKind::kLdlt &&
                       solver.complex() != solver::ComplexSymmetry::kSymmetric;
  return (inertia || run.determinant || run.complex_determinant) && run.solution.errors &&
         lost * run.solution.errors->condition_1norm > 1;
}

void print_notes(const SolveOptions& options, const Solver& solver, const SolveRun& run) {
  if (tells_of_another(options, solver, run))
    print_line(options,
               fmt::format("note: determinant and inertia are those of a matrix nearby: "
                           "the factor has lost more than 1/{:.1e} of this one",
                           run.solution.errors->condition_1norm));
  if (run.cholesky_failed)
    print_line(options, "note: not positive definite; factored as L D L^T");
  if (run.factor.pivots.perturbed > 0)
    print_line(options,
               fmt::format("note: {} pivots were perturbed: no memory to delay them",
                           run.factor.pivots.perturbed));
}

}  // namespace

ExitStatus report_run(const SolveOptions& options, const Solver& solver,
                      const SolveRun& run) {
  const std::vector<std::string> why = reasons(options, solver, run);
  Report report;
  report_system(report, options, solver, run.entries);
  if (options.factor.empty())
    report_memory(report, options, solver, run);
  else
    report_saved_memory(report, solver, run);
  report_time(report, options, solver, run);
  report_pivots(report, solver, run);
  report_low_rank(report, options, run);
  report_result(report, options, run);
  report.flag("singular", run.solution.doubts.singular ? "singular" : "",
              run.solution.doubts.singular);
  report.flag("trusted", "to be trusted", !run.solution.doubts.any());
  if (options.explain) report_explained(report, run.explained);
  write_memory_page(options, solver, run);
  report.print(options.json);

  print_notes(options, solver, run);
  for (const std::string& each : why) print_line(options, each);
  const Bytes peak = run.peak_resident(solver);
  const bool kept = !run.bound || peak <= *run.bound;
  if (!kept)
    note(fmt::format("the peak {} is above the bound {}", format_size(peak),
                     format_size(*run.bound)));
  return kept && why.empty() ? kDone : kNo;
}

void warn_that_it_may_not_fit(const SolveOptions& options, const Solver& solver,
                              Bytes bound) {
  print_line(
      options,
      fmt::format("note: {} is less than what suffices whatever the ranks are, {}: "
                  "it may end as \"does not fit\"",
                  format_size(bound), format_size(solver.least())));
}

Ending report_infeasible(const SolveOptions& options, const Solver& solver,
                         const SolveRun& run, Infeasible answer,
                         std::string_view advice) {
  Report report;
  report_system(report, options, solver, run.entries);
  if (options.explain) report_explained(report, run.explained);
  write_memory_page(options, solver, run);
  answer.least_bytes = solver.least();
  Bytes enough = answer.least_bytes;
  std::string more = fmt::format("; {}", advice);
  if (!options.solver.out_of_core.empty()) {
    const Bytes least = solver.least_out_of_core();
    enough = std::min(enough, least);
    report.bytes("out_of_core_least_bytes", "", least);
    more = fmt::format("; out of core {} suffices", size_with_bytes(least));
  }
  if (options.explain && !options.json) report.print(false);
  more = report_source(report, options.memory) + more;
  print_infeasible(std::move(report), answer, options.json, more);
  return {kNo, raise_memory(options.memory, enough)};
}

Ending report_not_definite(const SolveOptions& options, const Solver& solver,
                           std::int64_t entries, const solver::NotPositiveDefinite& bad) {
  print_line(options, fmt::format("not positive definite: no positive pivot in column {}",
                                  bad.column + 1));
  Report report;
  report_system(report, options, solver, entries);
  report.flag("positive_definite", "positive definite", false);
  report.count("failed_column", "failed column", bad.column + 1);
  if (options.json) report.print(true);
  return {kNo, set_option("--kind", "symmetric")};
}

}  // namespace espalier::cli
