#include "cli/solve_complex.h"

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

using solver::Clock;
using solver::Complex;
using solver::ComplexOperation;
using solver::ComplexSolver;
using solver::since;

struct ComplexVectors {
  std::vector<Complex> values;
  std::int32_t columns = 1;
  std::vector<std::int64_t> rows;  ///< where there may be entries; empty: anywhere
};

// As right_hand_sides().
ComplexVectors read_right_hand_sides(const SolveOptions& options, std::int32_t size) {
  ComplexVectors vectors;
  vectors.values.resize(static_cast<std::size_t>(size));
  if (options.rhs.empty()) return vectors;
  const solver::DenseVectors read = solver::read_complex_vectors(options.rhs, size);
  vectors.columns = static_cast<std::int32_t>(read.columns);
  vectors.values.resize(read.values.size() / 2);
  std::ranges::copy(read.values, solver::parts_of(vectors.values).begin());
  for (const std::int32_t part : read.rows_with_entries)
    if (vectors.rows.empty() || vectors.rows.back() != part / 2)
      vectors.rows.push_back(part / 2);
  if (std::ssize(vectors.rows) == size) vectors.rows.clear();
  return vectors;
}

ComplexOperation operation_of(const SolveOptions& options) {
  return options.conjugate_transposed ? ComplexOperation::kConjugateTransposed
         : options.transposed         ? ComplexOperation::kTransposed
                                      : ComplexOperation::kPlain;
}

void give_complex_results(const SolveOptions& options, ComplexSolver& solver,
                          SolveRun& run) {
  if (options.determinant) run.complex->determinant = solver.determinant();
  if (!options.null_space.empty() && solver.null_space() > 0)
    write_null_space(options, [&] {
      solver::write_complex_vectors(options.null_space, solver.null_space_basis(),
                                    solver.order());
    });
  if (options.schur.empty()) return;
  run.right_hand_sides = 0;
  run.solution.doubts.singular = solver.real().singular();
  if (run.solution.doubts.singular) return;
  const auto kept = static_cast<std::size_t>(solver.kept());
  std::vector<Complex> block(kept * kept);
  solver.schur(block);
  solver::write_complex_vectors(options.out, block, solver.kept());
}

void solve_complex_system(const SolveOptions& options, ComplexSolver& solver,
                          ComplexVectors& vectors, SolveRun& run) {
  const ComplexOperation operation = operation_of(options);
  const bool known = options.rhs.empty();
  if (known) vectors.values = solver.apply_to_ones(operation);
  run.right_hand_sides = vectors.columns;
  run.solution = solver.solve(vectors.values, vectors.columns, operation, vectors.rows);
  if (!known) return;
  double worst = 0;
  for (const Complex x : vectors.values) {
    const double error = std::abs(x - 1.0);
    worst = std::isnan(error) ? HUGE_VAL : std::max(worst, error);
  }
  run.forward_error = worst;
}

void note_facts(const ComplexSolver& solver, SolveRun& run) {
  run.complex = {.form = solver.form(),
                 .analyse_seconds = solver.analyse_seconds(),
                 .ordering = solver.seconds(),
                 .determinant = {}};
}

// What remains when there is a factorisation.
ExitStatus finish(const SolveOptions& options, ComplexSolver& solver,
                  ComplexVectors&& vectors, SolveRun& run,
                  std::optional<Progress>& progress) {
  progress->step("solving");
  note_facts(solver, run);
  give_complex_results(options, solver, run);
  if (run.right_hand_sides > 0) solve_complex_system(options, solver, vectors, run);
  if (!options.out.empty() && run.right_hand_sides > 0)
    solver::write_complex_vectors(options.out, vectors.values, solver.order());
  if (!options.save.empty()) {
    progress->step("saving");
    const Clock::time_point start = Clock::now();
    solver.real().save(options.save);
    run.save_seconds = since(start);
  }
  progress.reset();
  explain_peak(options, solver.real(), run);
  return report_run(options, solver.real(), run);
}

std::string_view symmetry_name(solver::RealForm form) {
  return form == solver::RealForm::kGeneral     ? "general"
         : form == solver::RealForm::kHermitian ? "hermitian"
                                                : "symmetric";
}

}  // namespace

void report_scalar(Report& report, const solver::Solver& solver,
                   const ComplexFacts* complex) {
  report.text("scalar", complex != nullptr ? "scalar" : "",
              complex != nullptr ? "complex" : "real");
  if (complex == nullptr) return;
  report.text("symmetry", "symmetry that is used", symmetry_name(complex->form));
  report.count("real_size", "order of the real form", solver.analysis().symbolic.size);
}

void report_determinant(Report& report, const solver::ComplexDeterminant& found) {
  if (found.modulus.sign() == 0) {
    report.count("determinant_sign", "determinant", 0);
    return;
  }
  report.number("determinant_log", "logarithm of the determinant's modulus",
                found.modulus.log_modulus());
  if (found.argument)
    report.number("determinant_argument", "its argument", *found.argument);
}

Ending solve_complex(SolveOptions& options, solver::ComplexMatrix&& matrix,
                     Clock::time_point start, std::optional<Progress>& progress) {
  SolveRun run;
  run.entries = std::ssize(matrix.row);
  ComplexVectors vectors = read_right_hand_sides(options, matrix.size);
  if (!options.schur.empty())
    options.solver.schur = read_variables(options.schur, matrix.size);
  run.read_seconds = since(start);
  ComplexSolver solver(std::move(matrix), options.solver,
                       [&](std::string_view step) { progress->step(step); });
  note_facts(solver, run);
  run.bound = bound_of(options, solver.real());
  explain_least(options, solver.real(), run);
  if (const auto planned = solver.plan(run.bound); !planned) {
    progress.reset();
    return report_infeasible(options, solver.real(), run, planned.error(),
                             "with --out-of-core DIR less may do");
  }
  progress->step("factorising");
  const solver::FactorKind tried = solver.real().kind();
  auto factored = solver.factorise([&](double part) { progress->update(part); });
  if (!factored) {
    progress.reset();
    return report_not_definite(options, solver.real(), run.entries, factored.error(),
                               &*run.complex);
  }
  run.factor = *factored;
  run.cholesky_failed = solver.real().kind() != tried;
  write_trace(options, solver.real(), run);
  return finish(options, solver, std::move(vectors), run, progress);
}

ExitStatus solve_saved_complex(const SolveOptions& options,
                               std::unique_ptr<solver::Solver> loaded,
                               Clock::time_point start,
                               std::optional<Progress>& progress) {
  ComplexSolver solver(std::move(loaded));
  SolveRun run;
  run.factor.pivots.null_space = solver.null_space();
  ComplexVectors vectors = read_right_hand_sides(options, solver.order());
  run.read_seconds = since(start);
  return finish(options, solver, std::move(vectors), run, progress);
}

}  // namespace espalier::cli
