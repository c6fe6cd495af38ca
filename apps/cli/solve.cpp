// espalier solve: one sparse system inside a memory bound.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "cli/command.h"
#include "cli/limits_note.h"
#include "cli/output.h"
#include "cli/solve_complex.h"
#include "cli/solve_options.h"
#include "cli/solve_report.h"
#include "cli/solve_results.h"
#include "cli/solve_steps.h"
#include "espalier/model/clock.h"
#include "solver/io/vector_io.h"
#include "solver/matrix/kind_of.h"
#include "solver/memory/process_memory.h"
#ifdef ESPALIER_WITH_MPI
#include "cli/job/cluster.h"
#endif

namespace espalier::cli {
namespace {

using solver::Solver;

// What remains when there is a factorisation.
ExitStatus finish(const SolveOptions& options, Solver& solver, Vectors&& vectors,
                  SolveRun& run, std::optional<Progress>& progress) {
  progress->step("solving");
  give_results(options, solver, run);
  if (run.right_hand_sides > 0) solve(options, solver, vectors, run);
  if (!options.out.empty() && run.right_hand_sides > 0)
    solver::write_vectors(options.out, vectors.values, solver.analysis().symbolic.size);
  if (!options.save.empty()) {
    progress->step("saving");
    const Clock::time_point start = Clock::now();
    solver.save(options.save, [&](double part) { progress->update(part); });
    run.save_seconds = since(start);
  }
  progress.reset();
  explain_peak(options, solver, run);
  return report_run(options, solver, run);
}

Ending factorise_and_finish(const SolveOptions& options, Solver& solver,
                            Vectors&& vectors, SolveRun& run,
                            std::optional<Progress>& progress) {
  if (const auto failed = factorise(options, solver, run, *progress)) {
    progress.reset();
    return report_not_definite(options, solver, run.entries, *failed);
  }
  return finish(options, solver, std::move(vectors), run, progress);
}

// As far as the matrix tells: a Cholesky that fails goes on without compression.
void check_compressed(const SolveOptions& options, const solver::InputMatrix& matrix) {
  if (options.solver.low_rank > 0 &&
      solver::kind_of(matrix) != solver::FactorKind::kCholesky)
    throw Refused(fmt::format("--low-rank {}: L L^T alone is compressed, and {} is not "
                              "positive definite",
                              options.solver.low_rank, options.input_name()),
                  drop_option("--low-rank"));
}

Ending solve_matrix(SolveOptions& options) {
  std::optional<Progress> progress(std::in_place, "reading");
  const Clock::time_point start = Clock::now();
  solver::AnyMatrix any = read_any_input(options.source, options.solver.kind);
  if (auto* complex = std::get_if<solver::ComplexMatrix>(&any))
    return solve_complex(options, std::move(*complex), start, progress);
  solver::InputMatrix matrix = std::get<solver::InputMatrix>(std::move(any));
  check_compressed(options, matrix);
  SolveRun run;
  run.entries = entries_of(matrix);
  Vectors vectors = right_hand_sides(options, solver::order_of(matrix));
  if (!options.schur.empty())
    options.solver.schur = kept_variables(options, solver::order_of(matrix));
  run.read_seconds = since(start);

  std::optional<AnalysisHeap> heap(std::in_place, options, solver::order_of(matrix),
                                   run.entries);
  Solver solver(std::move(matrix), options.solver,
                [&](std::string_view step) { progress->step(step); });
  run.bound = bound_of(options, solver);
  note_limits(options.memory, run.bound);
  heap.reset();
  explain_least(options, solver, run);
  if (const auto planned = solver.plan(run.bound); !planned) {
    progress.reset();
    return report_infeasible(
        options, solver, run, planned.error(),
        options.solver.low_rank > 0
            ? "without --low-rank, --out-of-core DIR may do with less"
            : "with --out-of-core DIR less may do");
  }
  leave_analysis(run);
  if (solver.may_not_fit()) warn_that_it_may_not_fit(options, solver, *run.bound);
  try {
    return factorise_and_finish(options, solver, std::move(vectors), run, progress);
  } catch (const DoesNotFit& error) {
    progress.reset();
    return report_infeasible(options, solver, run,
                             {.reason = Infeasible::Reason::kNoneFound,
                              .bound_bytes = *run.bound,
                              .least_bytes = solver.least(),
                              .lower_bound_bytes = solver.memory().baseline},
                             error.what());
  }
}

ExitStatus solve_saved(const SolveOptions& options) {
  std::optional<Progress> progress(std::in_place, "loading");
  const Clock::time_point start = Clock::now();
  SolveRun run;
  std::unique_ptr<Solver> solver = Solver::load(
      options.factor, options.solver, [&](double part) { progress->update(part); });
  if (solver->complex())
    return solve_saved_complex(options, std::move(solver), start, progress);
  run.factor.pivots = solver->pivots();
  Vectors vectors = right_hand_sides(options, solver->analysis().symbolic.size);
  run.read_seconds = since(start);
  return finish(options, *solver, std::move(vectors), run, progress);
}

}  // namespace

Command add_solve(CLI::App* app) {
  auto options = std::make_shared<SolveOptions>();
  app->description("Solve a sparse system inside a memory bound");
  add_solve_options(*app, *options);
#ifdef ESPALIER_WITH_MPI
  app->footer(
      "On N processes: mpirun -n N espalier solve …; --memory and --workers are "
      "then each process's.\n" +
      app->get_footer());
#endif
  const auto begin = [options, app] {
    options->workers_given = app->count("--workers") > 0;
    solver::keep_heap_small();
  };
  Command command{app,
                  [options, begin]() -> Ending {
                    begin();
                    return options->factor.empty() ? solve_matrix(*options)
                                                   : Ending(solve_saved(*options));
                  },
                  true,
                  [options] {
#ifdef ESPALIER_WITH_MPI
                    // Files are for the processes, which know each other, to complain of.
                    if (Cluster::launched_processes() > 1) {
                      check_for_cluster(*options);
                      return check_combinations(*options);
                    }
#endif
                    check(*options);
                  }};
#ifdef ESPALIER_WITH_MPI
  command.run_together = [options, begin](const Suggest& suggest) {
    begin();
    return solve_on_cluster(*options, suggest);
  };
#endif
  return command;
}

}  // namespace espalier::cli
