// The C interface: arguments are checked, exceptions become codes. Over 300 lines, most
// of them the phases' functions.

#include "espalier_solver.h"
#include "espalier/machine/blas_kernel.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "espalier/machine/memory_limits.h"
#include "espalier/model/versioned_struct.h"
#include "solver/api/c/handle.h"
#include "solver/memory/process_memory.h"
#include "solver/runtime/runtime.h"

using namespace espalier;
using namespace espalier::solver;
using namespace espalier::solver::c_api;

void c_api::need_plan(const espalier_solver& handle, const char* function) {
  if (!handle.planned) throw InvalidInput(fmt::format("{}: plan first", function));
}

void c_api::need_factor(const espalier_solver& handle, const char* function) {
  if (!handle.factored) throw InvalidInput(fmt::format("{}: factorise first", function));
}

Operation c_api::operation_of(const espalier_solver& handle, std::int32_t transposed) {
  if (transposed != 0 && transposed != 1)
    throw InvalidInput(fmt::format("transposed is {}, neither 0 nor 1", transposed));
  return (transposed != 0) != handle.transposed() ? Operation::kTransposed
                                                  : Operation::kPlain;
}

namespace {

Runtime& adopt(espalier_solver& handle, std::int32_t workers) {
  handle.adopted.reset(new Runtime(Runtime::adopt(workers)));
  return *handle.adopted;
}

}  // namespace

void c_api::construct(espalier_solver& handle, InputMatrix&& matrix,
                      const SolverOptions& options,
                      const espalier_solver_options& given) {
  handle.solver = adopts(given) ? std::make_unique<Solver>(adopt(handle, options.workers),
                                                           std::move(matrix), options)
                                : std::make_unique<Solver>(std::move(matrix), options);
}

void c_api::construct(espalier_solver& handle, ComplexMatrix&& matrix,
                      const SolverOptions& options,
                      const espalier_solver_options& given) {
  handle.complex = adopts(given)
                       ? std::make_unique<ComplexSolver>(adopt(handle, options.workers),
                                                         std::move(matrix), options)
                       : std::make_unique<ComplexSolver>(std::move(matrix), options);
}

namespace {

// The solver asks far more often than anybody's function should be called. One of C++ may
// throw whatever it likes: that ends the call as well, and no further than here.
void report_progress(const espalier_solver& handle, double done) {
  if (!handle.pace.due()) return;
  int answer = 0;
  try {
    answer = handle.progress(handle.progress_context, done);
  } catch (const std::exception& error) {
    throw Cancelled(fmt::format("the progress function threw: {}", error.what()));
  } catch (...) {
    throw Cancelled("the progress function threw");
  }
  if (answer != 0) throw Cancelled("the progress function ended the call");
}

}  // namespace

std::function<void(double)> c_api::progress_of(const espalier_solver& handle) {
  if (handle.progress == nullptr) return {};
  handle.pace.begin_anew();
  return [&handle](double done) { report_progress(handle, done); };
}

void c_api::take_progress(espalier_solver& handle, const espalier_solver_options& given,
                          SolverOptions& options) {
  handle.progress = given.progress;
  handle.progress_context = given.progress_context;
  options.analysis.interrupt = [&handle] {
    if (handle.progress != nullptr) report_progress(handle, 0);
  };
}

int c_api::factorise(espalier_solver& handle) {
  handle.factored = false;
  handle.failed_column = -1;
  handle.run = {};
  handle.solution = {};
  auto run = handle.factoring().factorise(progress_of(handle));
  if (!run) {
    handle.failed_column = run.error().column;
    return fail(EDOM, fmt::format("not positive definite: no positive pivot in column {}",
                                  handle.failed_column));
  }
  handle.run = *run;
  handle.factored = true;
  return 0;
}

namespace {

// Fronts come where the given matrix was.
template <class Factors, class Matrix>
int factorise_values_of(espalier_solver& handle, Factors& solver, Matrix&& matrix) {
  handle.factored = handle.has_values = false;
  {
    Matrix given = std::forward<Matrix>(matrix);
    solver.replace_values(std::move(given));
  }
  if (handle.bounded) trim_heap();
  handle.has_values = true;
  return factorise(handle);
}

}  // namespace

int c_api::factorise_with(espalier_solver& handle, InputMatrix&& matrix) {
  return factorise_values_of(handle, *handle.solver, std::move(matrix));
}

int c_api::factorise_with(espalier_solver& handle, ComplexMatrix&& matrix) {
  return factorise_values_of(handle, *handle.complex, std::move(matrix));
}

namespace {

void fill(const espalier_solver& handle, espalier_solver_statistics& out) {
  const Solver& solver = handle.factoring();
  const Analysis& analysis = solver.analysis();
  out.order = handle.order();
  out.scalar = handle.complex ? ESPALIER_SOLVER_COMPLEX : ESPALIER_SOLVER_REAL;
  out.kind = static_cast<std::int32_t>(solver.kind()) + ESPALIER_SOLVER_KIND_CHOLESKY;
  out.precision = solver.precision() == Precision::kSingle ? ESPALIER_SOLVER_SINGLE
                                                           : ESPALIER_SOLVER_DOUBLE;
  out.structural_rank = solver.prepared().structural_rank - analysis.symbolic.kept();
  out.singular = solver.singular() ? 1 : 0;
  out.factor_entries = analysis.symbolic.factor_entries;
  out.factor_flops = analysis.symbolic.factor_flops;
  out.analyse_seconds = solver.analyse_seconds();
  out.baseline_bytes = solver.memory().baseline;
  out.factor_growth = solver.factor_growth();
  out.peak_resident = solver.peak_resident();
  const SpillFile::Counters spilled = solver.spilled();
  out.bytes_written = spilled.bytes_written;
  out.bytes_read = spilled.bytes_read;
}

void fill(const FactorReport& run, espalier_solver_statistics& out) {
  out.factor_seconds = run.seconds;
  out.booked_peak = run.booked_peak;
  out.allocated_peak = run.allocated_peak;
  out.delayed_pivots = run.pivots.delayed;
  out.perturbed_pivots = run.pivots.perturbed;
  out.null_space = run.pivots.null_space;
  out.negative_pivots = run.pivots.negative;
  out.two_by_two_pivots = run.pivots.two_by_two;
  // The text of this run goes with it; that of the process stays.
  out.advice = run.advice.empty() ? nullptr : blas_advice().c_str();
}

void fill(const Solution& solution, espalier_solver_statistics& out) {
  out.solve_seconds = solution.seconds;
  out.refine_seconds = solution.refine_seconds;
  out.refinement_steps = solution.refinement.steps;
  out.gmres_steps = solution.refinement.gmres_steps;
  out.backward_error = solution.refinement.backward_error;
  const Doubts& doubts = solution.doubts;
  out.doubts = (doubts.singular ? ESPALIER_SOLVER_DOUBT_SINGULAR : 0) +
               (doubts.backward_error ? ESPALIER_SOLVER_DOUBT_BACKWARD_ERROR : 0) +
               (doubts.forward_error ? ESPALIER_SOLVER_DOUBT_FORWARD_ERROR : 0);
  if (!solution.errors) return;
  out.condition_1norm = solution.errors->condition_1norm;
  out.forward_error_bound = solution.errors->forward_error_bound;
}

}  // namespace

const char* espalier_solver_last_error(void) { return last_error(); }

int espalier_solver_create(espalier_solver** solver, const espalier_solver_matrix* matrix,
                           const espalier_solver_options* options) {
  return guarded([&] {
    need(solver, "solver") = nullptr;
    InputMatrix input = matrix_from(need(matrix, "matrix"));
    const espalier_solver_options known = known_options(options);
    SolverOptions given = options_from(known, order_of(input));
    if (processes_of(known) != nullptr)
      return fail(EINVAL, "create: not with options.communicator; use analyse");
    std::unique_ptr<espalier_solver> handle(new espalier_solver);
    take_progress(*handle, known, given);
    construct(*handle, std::move(input), given, known);
    *solver = handle.release();
    return 0;
  });
}

void espalier_solver_destroy(espalier_solver* solver) { delete solver; }

int espalier_solver_least(const espalier_solver* solver, int64_t* in_core,
                          int64_t* out_of_core) {
  return guarded([&] {
    const espalier_solver& handle = need(solver, "solver");
    handle.pace.begin_anew();
    Solver& inner = handle.factoring();
    if (handle.processes == nullptr && !handle.planned && !handle.factored)
      inner.settle_order();
    need(in_core, "in_core") = inner.least();
    if (out_of_core != nullptr)
      *out_of_core = inner.spills() ? inner.least_out_of_core() : std::int64_t{-1};
    return 0;
  });
}

int espalier_solver_plan(espalier_solver* solver, int64_t bound) {
  return guarded([&] {
    espalier_solver& handle = need(solver, "solver");
    if (bound == ESPALIER_SOLVER_MEMORY_AUTO) {
      need_one_process(handle, "ESPALIER_SOLVER_MEMORY_AUTO");
      bound = memory_room().bytes;
    }
    if (bound < 0) return fail(EINVAL, fmt::format("a bound of {} bytes", bound));
    handle.pace.begin_anew();
    std::optional<Bytes> wanted;
    if (bound != INT64_MAX) wanted = bound;
    if (bound == ESPALIER_SOLVER_MEMORY_LEAST) {
      handle.factoring().settle_order();
      wanted = handle.factoring().least_for_plan();
    }
    handle.planned = handle.factored = false;
    const auto planned = handle.factoring().plan(wanted);
    if (!planned) return fail(ENOMEM, planned.error().message());
    handle.planned = true;
    handle.bounded = wanted || handle.factoring().lease() != nullptr;
    return 0;
  });
}

int espalier_solver_factorise(espalier_solver* solver) {
  return guarded([&] {
    espalier_solver& handle = need(solver, "solver");
    need_plan(handle, "factorise");
    if (!handle.has_values)
      return fail(EINVAL, "factorise: the last values did not fit; refactorise");
    return factorise(handle);
  });
}

int espalier_solver_refactorise(espalier_solver* solver,
                                const espalier_solver_matrix* matrix) {
  return guarded([&] {
    espalier_solver& handle = need(solver, "solver");
    need_plan(handle, "refactorise");
    if (handle.complex)
      return fail(EINVAL, "refactorise: the matrix is complex; use factorise_values");
    need_one_process(handle, "refactorise");
    if (handle.transposed())
      return fail(EINVAL, "refactorise: of compressed rows; use factorise_values");
    const espalier_solver_matrix& given = need(matrix, "matrix");
    handle.factored = false;
    make_room_for_values(handle);
    return factorise_with(handle, matrix_from(given));
  });
}

int espalier_solver_solve(espalier_solver* solver, int32_t transposed, int32_t nrhs,
                          double* vectors) {
  return guarded([&] {
    espalier_solver& handle = need(solver, "solver");
    need_factor(handle, "solve");
    if (!handle.complex) (void)operation_of(handle, transposed);
    const std::span<double> b =
        vectors_from(handle.parts() * handle.order(), nrhs, vectors);
    if (!b.empty())
      handle.solution = solve(handle, transposed, nrhs, b, progress_of(handle));
    return 0;
  });
}

int espalier_solver_set_refinement(espalier_solver* solver, int32_t no_refinement,
                                   int32_t estimate_errors) {
  return guarded([&] {
    SolverOptions options;
    take_refinement(no_refinement, estimate_errors, options);
    need(solver, "solver")
        .factoring()
        .set_refinement(options.refine, options.no_residual, options.estimate_errors);
    return 0;
  });
}

int espalier_solver_save(const espalier_solver* solver, const char* path) {
  return guarded([&] {
    const espalier_solver& handle = need(solver, "solver");
    need_factor(handle, "save");
    handle.factoring().save(&need(path, "path"), progress_of(handle));
    return 0;
  });
}

int espalier_solver_load(espalier_solver** solver, const char* path,
                         const espalier_solver_options* options) {
  return guarded([&] {
    need(solver, "solver") = nullptr;
    const espalier_solver_options known = known_options(options);
    SolverOptions given = options_from(known, -1);
    std::unique_ptr<espalier_solver> handle(new espalier_solver);
    const char* const file = &need(path, "path");
    handle->processes = processes_of(known);
    take_progress(*handle, known, given);
    const auto progress = progress_of(*handle);
    handle->solver = handle->processes != nullptr
                         ? Solver::load(*handle->processes, file, given, progress)
                     : adopts(known) ? Solver::load(adopt(*handle, given.workers), file,
                                                    given, progress)
                                     : Solver::load(file, given, progress);
    if (handle->solver->complex())
      handle->complex = std::make_unique<ComplexSolver>(std::move(handle->solver));
    handle->run.pivots = handle->factoring().pivots();
    handle->factored = true;
    *solver = handle.release();
    return 0;
  });
}

namespace {

// Of all variables but the kept ones. A null vector may be known where no pivot was zero.
std::int32_t estimated_rank(const espalier_solver& handle,
                            const espalier_solver_statistics& facts) {
  const std::int64_t lacks = std::max<std::int64_t>(facts.null_space, facts.singular);
  const std::int64_t order = facts.order - handle.factoring().analysis().symbolic.kept();
  return static_cast<std::int32_t>(
      std::min<std::int64_t>(facts.structural_rank, order - std::min(lacks, order)));
}

}  // namespace

int espalier_solver_read_statistics(const espalier_solver* solver,
                                    espalier_solver_statistics* statistics) {
  return guarded([&] {
    const espalier_solver& handle = need(solver, "solver");
    espalier_solver_statistics& out = need(statistics, "statistics");
    espalier_solver_statistics all{};
    fill(handle, all);
    fill(handle.run, all);
    fill(handle.solution, all);
    all.failed_column = handle.failed_column;
    if (handle.factored) all.rank = estimated_rank(handle, all);
    give_versioned(all, kStatisticsSizes, "statistics", out);
    return 0;
  });
}
