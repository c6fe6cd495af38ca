#pragma once

// What stands behind espalier_solver, for the files of the C interface.

#include <functional>
#include <memory>
#include <optional>

#include "espalier/model/pace.h"
#include "solver/api/c/arguments.h"
#include "solver/api/c/given_complex.h"
#include "solver/api/c/given_matrix.h"
#include "solver/api/solver.h"
#include "solver/complex/complex_solver.h"
#include "solver/distributed/communicator.h"
#include "solver/memory/budget.h"
#include "solver/runtime/runtime.h"

struct espalier_solver_budget {
  std::shared_ptr<espalier::solver::Budget> budget;
};

struct espalier_solver_communicator {
  std::unique_ptr<espalier::solver::Communicator> processes;
};

struct espalier_solver {
  espalier::solver::Communicator* processes = nullptr;  ///< null: this one alone
  std::unique_ptr<espalier::solver::Runtime> adopted;   ///< the program's StarPU
  /// Of a real matrix, or of a complex one.
  std::unique_ptr<espalier::solver::Solver> solver;
  std::unique_ptr<espalier::solver::ComplexSolver> complex;
  /// Of espalier_solver_analyse(), likewise.
  std::optional<espalier::solver::c_api::GivenMatrix> given;
  std::optional<espalier::solver::c_api::GivenComplex> given_complex;
  bool analysed = false;  ///< by espalier_solver_analyse()
  bool planned = false, factored = false;
  bool bounded = false;    ///< by the plan or by a budget
  bool has_values = true;  ///< false: those that were given did not fit
  espalier::solver::FactorReport run;
  espalier::solver::Solution solution;
  std::int32_t failed_column = -1;
  espalier_solver_progress progress = nullptr;
  void* progress_context = nullptr;
  mutable espalier::Pace pace;  ///< of the calls of `progress`

  /// The one that factors.
  [[nodiscard]] espalier::solver::Solver& factoring() const {
    return complex ? complex->solver() : *solver;
  }
  /// Whether it is the caller's matrix transposed that is factored.
  [[nodiscard]] bool transposed() const { return factoring().of_transposed(); }
  /// Doubles of one of the caller's numbers.
  [[nodiscard]] std::int32_t parts() const { return complex ? 2 : 1; }
  [[nodiscard]] std::int64_t number_bytes() const {
    return parts() * std::int64_t{sizeof(double)};
  }
  /// Of the caller's matrix.
  [[nodiscard]] std::int32_t order() const {
    return factoring().analysis().symbolic.size;
  }
  [[nodiscard]] std::int64_t kept() const {
    return factoring().analysis().symbolic.kept();
  }
  [[nodiscard]] std::int64_t null_space() const { return factoring().null_space(); }
};

namespace espalier::solver::c_api {

/// Makes the handle's solver, on the program's StarPU where the options ask for it.
/// @param given  what `options` was read from
void construct(espalier_solver& handle, InputMatrix&& matrix,
               const SolverOptions& options, const espalier_solver_options& given);
void construct(espalier_solver& handle, ComplexMatrix&& matrix,
               const SolverOptions& options, const espalier_solver_options& given);

/// What the handle's solver asks whether it shall go on: options.progress, until
/// espalier_solver_set_progress() says otherwise. The handle outlives the solver.
void take_progress(espalier_solver& handle, const espalier_solver_options& given,
                   SolverOptions& options);
/// Of one factorisation or solve, or of entries of the inverse: asked at once the first
/// time; empty: nobody asks.
[[nodiscard]] std::function<void(double)> progress_of(const espalier_solver& handle);

/// Whether a complex matrix is factored as a general one whatever its values are: the
/// next ones need not have the symmetry of these.
[[nodiscard]] bool factors_as_general(const espalier_solver_input& given,
                                      const SolverOptions& chosen);

/// The processes of the options; null: this one alone.
[[nodiscard]] Communicator* processes_of(const espalier_solver_options& options);
/// Analyses, and factors the values of, process 0's matrix.
void analyse_together(espalier_solver& handle, const espalier_solver_input& input,
                      const espalier_solver_options& options);
[[nodiscard]] int factorise_together(espalier_solver& handle, const double* values,
                                     std::int64_t entries);
/// @throws InvalidInput naming what is for one process alone
void need_one_process(const espalier_solver& handle, const char* what);

/// @throws InvalidInput for another number of values than were analysed
void check_values(const espalier_solver& handle, const double* values,
                  std::int64_t entries);

/// Inside a bound values are read where the factor was. Without one its pages wait for
/// the next factor.
void make_room_for_values(espalier_solver& handle);

/// @throws InvalidInput naming the function that was called too early
void need_plan(const espalier_solver& handle, const char* function);
void need_factor(const espalier_solver& handle, const char* function);

/// What solves the caller's system, or the transposed one.
/// @throws InvalidInput for anything but 0 and 1
[[nodiscard]] Operation operation_of(const espalier_solver& handle,
                                     std::int32_t transposed);

/// b := op(A)^-1 b for vectors of the caller's numbers, one after the other, and what is
/// known of that. @throws InvalidInput for another `transposed` than there is
[[nodiscard]] Solution solve(espalier_solver& handle, std::int32_t transposed,
                             std::int32_t nrhs, std::span<double> b,
                             const std::function<void(double)>& progress);

/// Factors the values that are there. @return 0 or -EDOM
[[nodiscard]] int factorise(espalier_solver& handle);
/// Takes new values first; of the matrix nothing is left when fronts come.
[[nodiscard]] int factorise_with(espalier_solver& handle, InputMatrix&& matrix);
[[nodiscard]] int factorise_with(espalier_solver& handle, ComplexMatrix&& matrix);

/// Numbers of two doubles.
[[nodiscard]] inline std::span<Complex> complex_numbers(std::span<double> parts) {
  return {reinterpret_cast<Complex*>(parts.data()), parts.size() / 2};
}

}  // namespace espalier::solver::c_api
