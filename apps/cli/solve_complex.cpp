#include "cli/solve_complex.h"
#include "cli/limits_note.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/solve_results.h"
#include "cli/solve_steps.h"
#include "solver/complex/complex_solver.h"
#include "solver/io/vector_io.h"

namespace espalier::cli {
namespace {

using solver::Complex;
using solver::ComplexOperation;
using solver::ComplexSolver;

// What is asked for, of M = A^T where it is `across`: A^H is the conjugate of M.
ComplexOperation operation_of(const SolveOptions& options, bool across) {
  if (across)
    return options.transposed ? ComplexOperation::kPlain : ComplexOperation::kTransposed;
  return options.conjugate_transposed ? ComplexOperation::kConjugateTransposed
         : options.transposed         ? ComplexOperation::kTransposed
                                      : ComplexOperation::kPlain;
}

}  // namespace

ComplexVectors complex_right_hand_sides(const SolveOptions& options, std::int32_t size) {
  ComplexVectors vectors;
  vectors.values.resize(static_cast<std::size_t>(size));
  if (options.rhs.empty()) return vectors;
  const solver::DenseVectors read = refusing(drop_option("--rhs"), [&] {
    return solver::read_complex_vectors(options.rhs, size);
  });
  vectors.nrhs = static_cast<std::int32_t>(read.columns);
  vectors.values.resize(read.values.size() / 2);
  std::ranges::copy(read.values, solver::parts_of(vectors.values).begin());
  for (const std::int32_t part : read.rows_with_entries)
    if (vectors.rows.empty() || vectors.rows.back() != part / 2)
      vectors.rows.push_back(part / 2);
  if (std::ssize(vectors.rows) == size) vectors.rows.clear();
  return vectors;
}

void solve(const SolveOptions& options, ComplexSolver& solver, ComplexVectors& vectors,
           SolveRun& run) {
  const bool across = solver.solver().of_transposed();
  const ComplexOperation operation = operation_of(options, across);
  const bool known = options.rhs.empty();
  const bool around = across && options.conjugate_transposed;
  if (known)
    vectors.values = solver.apply_to_ones(operation);
  else if (around)
    solver::conjugate(vectors.values);
  run.right_hand_sides = vectors.nrhs;
  run.solution = solver.solve(vectors.values, vectors.nrhs, operation, vectors.rows);
  if (around) solver::conjugate(vectors.values);
  if (!known) return;
  double worst = 0;
  for (const Complex x : vectors.values) {
    const double error = std::abs(x - 1.0);
    worst = std::isnan(error) ? HUGE_VAL : std::max(worst, error);
  }
  run.forward_error = worst;
}

std::vector<Complex> null_space(ComplexSolver& solver) {
  return solver.null_space_basis(solver.solver().of_transposed()
                                     ? ComplexOperation::kTransposed
                                     : ComplexOperation::kPlain);
}

namespace {

void give_complex_results(const SolveOptions& options, ComplexSolver& solver,
                          SolveRun& run) {
  if (options.determinant) run.complex_determinant = solver.determinant();
  write_null_space(options, solver.solver().null_space(), [&] {
    solver::write_complex_vectors(options.null_space, null_space(solver), solver.order());
  });
  if (options.schur.empty()) return;
  run.right_hand_sides = 0;
  run.solution.doubts.singular = solver.solver().singular();
  if (run.solution.doubts.singular) return;
  const std::int32_t kept_variables = solver.solver().analysis().symbolic.kept();
  const auto kept = static_cast<std::size_t>(kept_variables);
  std::vector<Complex> block(kept * kept);
  solver.schur(block);
  solver::write_complex_vectors(options.out, block, kept_variables);
}

// What remains when there is a factorisation.
ExitStatus finish(const SolveOptions& options, ComplexSolver& solver,
                  ComplexVectors&& vectors, SolveRun& run,
                  std::optional<Progress>& progress) {
  progress->step("solving");
  give_complex_results(options, solver, run);
  if (run.right_hand_sides > 0) solve(options, solver, vectors, run);
  if (!options.out.empty() && run.right_hand_sides > 0)
    solver::write_complex_vectors(options.out, vectors.values, solver.order());
  if (!options.save.empty()) {
    progress->step("saving");
    const Clock::time_point start = Clock::now();
    solver.solver().save(options.save, [&](double part) { progress->update(part); });
    run.save_seconds = since(start);
  }
  progress.reset();
  explain_peak(options, solver.solver(), run);
  return report_run(options, solver.solver(), run);
}

std::string_view symmetry_name(solver::ComplexSymmetry symmetry) {
  return symmetry == solver::ComplexSymmetry::kGeneral     ? "general"
         : symmetry == solver::ComplexSymmetry::kHermitian ? "hermitian"
                                                           : "symmetric";
}

}  // namespace

void report_scalar(Report& report, const solver::Solver& solver) {
  const auto complex = solver.complex();
  report.text("scalar", complex ? "scalar" : "", complex ? "complex" : "real");
  if (complex) report.text("symmetry", "symmetry that is used", symmetry_name(*complex));
}

void report_determinant(Report& report, const solver::ComplexDeterminant& found) {
  if (found.modulus.sign() == 0) {
    report.count("determinant_sign", "determinant", 0);
    return;
  }
  report.number("determinant_log", "logarithm of the determinant's modulus",
                found.modulus.log_modulus());
  report.number("determinant_argument", "its argument", found.argument);
}

Ending solve_complex(SolveOptions& options, solver::ComplexMatrix&& matrix,
                     Clock::time_point start, std::optional<Progress>& progress) {
  if (options.solver.low_rank > 0)
    throw Refused(
        fmt::format("--low-rank {}: not of complex matrices", options.solver.low_rank),
        drop_option("--low-rank"));
  SolveRun run;
  run.entries = std::ssize(matrix.row);
  ComplexVectors vectors = complex_right_hand_sides(options, matrix.size);
  if (!options.schur.empty()) options.solver.schur = kept_variables(options, matrix.size);
  run.read_seconds = since(start);
  std::optional<AnalysisHeap> heap(std::in_place, options, matrix.size, run.entries);
  ComplexSolver solver(std::move(matrix), options.solver,
                       [&](std::string_view step) { progress->step(step); });
  run.bound = bound_of(options, solver.solver());
  note_limits(options.memory, run.bound);
  heap.reset();
  explain_least(options, solver.solver(), run);
  if (const auto planned = solver.solver().plan(run.bound); !planned) {
    progress.reset();
    return report_infeasible(options, solver.solver(), run, planned.error(),
                             "with --out-of-core DIR less may do");
  }
  leave_analysis(run);
  if (const auto failed = factorise(options, solver.solver(), run, *progress)) {
    progress.reset();
    return report_not_definite(options, solver.solver(), run.entries, *failed);
  }
  return finish(options, solver, std::move(vectors), run, progress);
}

ExitStatus solve_saved_complex(const SolveOptions& options,
                               std::unique_ptr<solver::Solver> loaded,
                               Clock::time_point start,
                               std::optional<Progress>& progress) {
  ComplexSolver solver(std::move(loaded));
  SolveRun run;
  run.factor.pivots = solver.solver().pivots();
  ComplexVectors vectors = complex_right_hand_sides(options, solver.order());
  run.read_seconds = since(start);
  return finish(options, solver, std::move(vectors), run, progress);
}

}  // namespace espalier::cli
