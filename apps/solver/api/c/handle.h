#pragma once

// What stands behind espalier_solver, for the files of the C interface.

#include <memory>
#include <optional>

#include "solver/api/c/arguments.h"
#include "solver/api/c/given_matrix.h"
#include "solver/api/solver.h"
#include "solver/memory/budget.h"
#include "solver/runtime/runtime.h"

struct espalier_solver_budget {
  std::shared_ptr<espalier::solver::Budget> budget;
};

struct espalier_solver {
  std::unique_ptr<espalier::solver::Runtime> adopted;  ///< the program's StarPU
  std::unique_ptr<espalier::solver::Solver> solver;
  /// Of espalier_solver_analyse().
  std::optional<espalier::solver::c_api::GivenMatrix> given;
  bool planned = false, factored = false;
  bool has_values = true;  ///< false: those that were given did not fit
  espalier::solver::FactorReport run;
  espalier::solver::Solution solution;
  std::int32_t failed_column = -1;
  espalier_solver_progress progress = nullptr;
  void* progress_context = nullptr;
};

namespace espalier::solver::c_api {

/// Makes the handle's solver, on the program's StarPU where the options ask for it.
/// @param given  what `options` was read from
void construct(espalier_solver& handle, InputMatrix&& matrix,
               const SolverOptions& options, const espalier_solver_options* given);

/// @throws InvalidInput naming the function that was called too early
void need_plan(const espalier_solver& handle, const char* function);
void need_factor(const espalier_solver& handle, const char* function);

/// What solves the caller's system, or the transposed one.
/// @throws InvalidInput for anything but 0 and 1
[[nodiscard]] Operation operation_of(const espalier_solver& handle,
                                     std::int32_t transposed);

/// Factors the values that are there. @return 0 or -EDOM
[[nodiscard]] int factorise(espalier_solver& handle);
/// Takes new values first.
[[nodiscard]] int factorise_with(espalier_solver& handle, const InputMatrix& matrix);

}  // namespace espalier::solver::c_api
