#include "solver/c_api/arguments.h"

#include <starpu.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>

#include "solver/runtime.h"

namespace espalier::solver::c_api {
namespace {

// Of a fixed size: an explanation needs no memory. Longer ones are cut.
thread_local std::array<char, 1024> text_of_last_error{};

// StarPU has one state a process: a solver has it all to itself.
std::atomic<bool> solver_exists{false};

// The value of one of an option's constants, which are 0 … values.size() - 1.
template <class T, std::size_t kCount>
T choice(const char* option, std::int32_t given, const std::array<T, kCount>& values) {
  if (given < 0 || given >= static_cast<std::int32_t>(kCount))
    throw InvalidInput(
        fmt::format("options.{} is {}: not one of 0 … {}", option, given, kCount - 1));
  return values[static_cast<std::size_t>(given)];
}

bool flag(const char* option, std::int32_t given) {
  return choice(option, given, std::array{false, true});
}

void check_column(const espalier_solver_matrix& matrix, std::int32_t j) {
  const std::int64_t begin = matrix.column_start[j], end = matrix.column_start[j + 1];
  const bool symmetric = matrix.storage == ESPALIER_SOLVER_SYMMETRIC;
  const std::int32_t first = symmetric ? j : 0;
  std::int32_t last = first - 1;
  for (std::int64_t k = begin; k < end; ++k) {
    const std::int32_t row = matrix.rows[k];
    if (row < first || row >= matrix.order)
      throw InvalidInput(fmt::format("entry {} in column {}: row {} is not in {} … {}", k,
                                     j, row, first, matrix.order - 1));
    if (row <= last)
      throw InvalidInput(fmt::format("entry {} in column {}: row {} comes after row {}",
                                     k, j, row, last));
    if (!std::isfinite(matrix.values[k]))
      throw InvalidInput(
          fmt::format("entry ({}, {}) is {}: not finite", row, j, matrix.values[k]));
    last = row;
  }
}

void check_matrix(const espalier_solver_matrix& matrix) {
  if (matrix.order < 0)
    throw InvalidInput(fmt::format("a matrix of order {}", matrix.order));
  choice("storage", matrix.storage, std::array{0, 1});
  need(matrix.column_start, "matrix.column_start");
  if (matrix.column_start[0] != 0)
    throw InvalidInput(
        fmt::format("column_start[0] is {}, not 0", matrix.column_start[0]));
  for (std::int32_t j = 0; j < matrix.order; ++j) {
    const std::int64_t begin = matrix.column_start[j], end = matrix.column_start[j + 1];
    // In this order: begin is in range, so nothing overflows.
    if (end < begin || end - begin > matrix.order)
      throw InvalidInput(fmt::format("column {} of a matrix of order {} is from {} to {}",
                                     j, matrix.order, begin, end));
  }
  if (matrix.column_start[matrix.order] == 0) return;
  need(matrix.rows, "matrix.rows");
  need(matrix.values, "matrix.values");
  for (std::int32_t j = 0; j < matrix.order; ++j) check_column(matrix, j);
}

template <class Matrix>
Matrix copy_of(const espalier_solver_matrix& matrix) {
  const std::int64_t entries = matrix.column_start[matrix.order];
  Matrix result;
  result.size = matrix.order;
  result.column_start.assign(matrix.column_start, matrix.column_start + matrix.order + 1);
  if (entries == 0) return result;
  result.row.assign(matrix.rows, matrix.rows + entries);
  result.value.assign(matrix.values, matrix.values + entries);
  return result;
}

}  // namespace

OnlySolver::OnlySolver() {
  if (solver_exists.exchange(true)) throw Busy("a solver exists in this process");
  if (starpu_is_initialized() == 0) return;
  solver_exists = false;
  throw Busy("StarPU runs in this process already");
}

OnlySolver::~OnlySolver() { solver_exists = false; }

int fail(int code, const char* text) noexcept {
  std::snprintf(text_of_last_error.data(), text_of_last_error.size(), "%s", text);
  return -code;
}

const char* last_error() noexcept { return text_of_last_error.data(); }

SolverOptions options_from(const espalier_solver_options* given) {
  using Scaling = PrepareOptions::Scaling;
  SolverOptions options;
  options.workers = default_workers();
  if (given == nullptr) return options;
  if (given->size != sizeof *given)
    throw InvalidInput(
        fmt::format("options.size is {}, not {}", given->size, sizeof *given));
  options.kind = choice<std::optional<FactorKind>>(
      "kind", given->kind,
      std::array<std::optional<FactorKind>, 4>{std::nullopt, FactorKind::kCholesky,
                                               FactorKind::kLdlt, FactorKind::kLu});
  options.precision = choice("precision", given->precision,
                             std::array{Precision::kDouble, Precision::kSingle});
  options.prepare.scaling = choice("scaling", given->scaling,
                                   std::array{Scaling::kAuto, Scaling::kNone,
                                              Scaling::kEquilibrate, Scaling::kMatching});
  options.analysis.ordering = choice(
      "ordering", given->ordering,
      std::array{OrderingKind::kAuto, OrderingKind::kAuto, OrderingKind::kMetis,
                 OrderingKind::kScotch, OrderingKind::kAmd, OrderingKind::kNatural});
  if (given->workers != 0) options.workers = given->workers;
  check(RuntimeOptions{options.workers, options.scheduler});
  options.estimate_errors = flag("estimate_errors", given->estimate_errors);
  options.refine = !flag("no_refinement", given->no_refinement);
  if (given->reserved != 0)
    throw InvalidInput(fmt::format("options.reserved is {}, not 0", given->reserved));
  if (!(given->pivot_threshold >= 0 && given->pivot_threshold <= 1))
    throw InvalidInput(fmt::format("options.pivot_threshold is {}: not in [0, 1]",
                                   given->pivot_threshold));
  if (given->pivot_threshold > 0) options.pivot_threshold = given->pivot_threshold;
  if (given->delay_reserve < 0)
    throw InvalidInput(
        fmt::format("options.delay_reserve is {}: negative", given->delay_reserve));
  if (given->delay_reserve > 0) options.delay_reserve = given->delay_reserve;
  if (given->out_of_core != nullptr) options.out_of_core = given->out_of_core;
  return options;
}

InputMatrix matrix_from(const espalier_solver_matrix& matrix) {
  check_matrix(matrix);
  if (matrix.storage == ESPALIER_SOLVER_SYMMETRIC)
    return copy_of<SymmetricMatrix>(matrix);
  return copy_of<GeneralMatrix>(matrix);
}

std::span<double> vectors_from(std::int32_t order, std::int32_t columns,
                               double* vectors) {
  if (columns < 0) throw InvalidInput(fmt::format("{} right-hand sides", columns));
  const std::int64_t entries = checked_mul(order, columns);
  if (entries == 0) return {};
  need(vectors, "vectors");
  const std::span<double> result(vectors, static_cast<std::size_t>(entries));
  const auto bad = std::find_if_not(result.begin(), result.end(),
                                    [](double value) { return std::isfinite(value); });
  if (bad != result.end())
    throw InvalidInput(fmt::format("entry {} of the vectors is {}: not finite",
                                   bad - result.begin(), *bad));
  return result;
}

}  // namespace espalier::solver::c_api
