#include "solver/api/c/arguments.h"

#include <array>
#include <cstdio>
#include <limits>
#include <optional>

#include "espalier/model/versioned_struct.h"
#include "solver/api/c/handle.h"
#include "solver/matrix/check_matrix.h"
#include "solver/runtime/runtime.h"

namespace espalier::solver::c_api {
namespace {

// Of a fixed size: an explanation needs no memory. Longer ones are cut.
thread_local std::array<char, 1024> text_of_last_error{};

// The value of one of an option's constants, which are 0 … values.size() - 1.
template <class T, std::size_t kCount>
T choice(const char* option, std::int32_t given, const std::array<T, kCount>& values) {
  if (given < 0 || given >= static_cast<std::int32_t>(kCount))
    throw InvalidInput(
        fmt::format("options.{} is {}: not one of 0 … {}", option, given, kCount - 1));
  return values[static_cast<std::size_t>(given)];
}

// Systems of no more than this are done before StarPU would have started.
constexpr std::int64_t kSmallOrder = 2000;

// Operations below which the calling thread does it all (SolverOptions).
std::optional<Flops> runtime_flops(const espalier_solver_options& given,
                                   std::int64_t order) {
  constexpr Flops kAny = std::numeric_limits<Flops>::infinity();
  switch (choice("runtime", given.runtime, std::array{0, 1, 2, 3})) {
    case ESPALIER_SOLVER_RUNTIME_STARPU:
    case ESPALIER_SOLVER_RUNTIME_ADOPTED:
      return 0;
    case ESPALIER_SOLVER_RUNTIME_NONE:
      if (given.out_of_core != nullptr)
        throw InvalidInput(
            "options.runtime: what may leave memory (options.out_of_core) "
            "needs StarPU");
      if (given.low_rank > 0)
        throw InvalidInput(
            "options.runtime: fronts are compressed (options.low_rank) on StarPU alone");
      return kAny;
    default:
      return order >= 0 && order <= kSmallOrder ? std::optional(kAny) : std::nullopt;
  }
}

// To wait: about three years.
constexpr double kMostSeconds = 1e8;

std::vector<std::int32_t> order_from(const std::int32_t* given, std::int64_t order) {
  if (given == nullptr || order <= 0) return {};
  std::vector<std::int32_t> result(given, given + order);
  check_permutation(result, "options.order");
  return result;
}

// Solver looks at the variables themselves.
std::vector<std::int32_t> schur_from(const espalier_solver_options& options,
                                     std::int64_t order) {
  if (options.schur == nullptr) {
    if (options.schur_count == 0) return {};
    throw InvalidInput(fmt::format("options.schur is NULL, options.schur_count {}",
                                   options.schur_count));
  }
  if (options.schur_count < 0 || (order >= 0 && options.schur_count > order))
    throw InvalidInput(
        fmt::format("options.schur_count is {}: order {}", options.schur_count, order));
  return {options.schur, options.schur + options.schur_count};
}

// Of no letter it is none, and the caller may think that there is one.
const char* directory(const char* given) {
  if (*given == '\0')
    throw InvalidInput("options.out_of_core is \"\": not the name of a directory");
  return given;
}

bool flag(const char* option, std::int32_t given) {
  return choice(option, given, std::array{false, true});
}

// What the factor is to be like.
void take_factor_options(const espalier_solver_options& given, SolverOptions& options) {
  options.low_rank = given.low_rank;
  options.factor_parts = flag("factor_parts", given.factor_parts);
  options.front_grids =
      choice("front_grids", given.front_grids,
             std::array{FrontGrids::kNever, FrontGrids::kByVolume, FrontGrids::kAlways});
}

MatrixView view_of(const espalier_solver_matrix& matrix) {
  if (matrix.order < 0)
    throw InvalidInput(fmt::format("matrix.order is {}: negative", matrix.order));
  if (matrix.storage != ESPALIER_SOLVER_SYMMETRIC &&
      matrix.storage != ESPALIER_SOLVER_GENERAL)
    throw InvalidInput(
        fmt::format("matrix.storage is {}, neither 0 nor 1", matrix.storage));
  need(matrix.column_start, "matrix.column_start");
  MatrixView view{
      matrix.order,
      matrix.storage == ESPALIER_SOLVER_SYMMETRIC,
      std::span(matrix.column_start, static_cast<std::size_t>(matrix.order) + 1),
      {},
      {}};
  check_columns(view.order, view.column_start);
  const auto entries = static_cast<std::size_t>(view.column_start.back());
  if (entries == 0) return view;
  view.rows = {&need(matrix.rows, "matrix.rows"), entries};
  view.values = {&need(matrix.values, "matrix.values"), entries};
  return view;
}

template <class Matrix>
Matrix copy_of(const MatrixView& view) {
  Matrix result;
  result.size = view.order;
  result.column_start.assign(view.column_start.begin(), view.column_start.end());
  result.row.assign(view.rows.begin(), view.rows.end());
  result.value.assign(view.values.begin(), view.values.end());
  return result;
}

OrderingKind ordering_from(std::int32_t number) {
  return choice("ordering", number,
                std::array{OrderingKind::kAuto, OrderingKind::kAuto, OrderingKind::kMetis,
                           OrderingKind::kScotch, OrderingKind::kAmd,
                           OrderingKind::kNatural, OrderingKind::kNested});
}

}  // namespace

int fail(int code, const char* text) noexcept {
  std::snprintf(text_of_last_error.data(), text_of_last_error.size(), "%s", text);
  return -code;
}

const char* last_error() noexcept { return text_of_last_error.data(); }

espalier_solver_options known_options(const espalier_solver_options* given) {
  if (given == nullptr) return ESPALIER_SOLVER_OPTIONS_INIT;
  return versioned(*given, kOptionsSizes, "options");
}

bool adopts(const espalier_solver_options& given) {
  return given.runtime == ESPALIER_SOLVER_RUNTIME_ADOPTED;
}

void take_refinement(std::int32_t no_refinement, std::int32_t estimate_errors,
                     SolverOptions& options) {
  options.estimate_errors = flag("estimate_errors", estimate_errors);
  options.refine = choice("no_refinement", no_refinement, std::array{1, 0, 0}) == 1;
  options.no_residual = no_refinement == 2;
}

SolverOptions options_from(const espalier_solver_options& given, std::int64_t order) {
  using Scaling = PrepareOptions::Scaling;
  SolverOptions options;
  options.workers = default_workers();
  options.kind = choice<std::optional<FactorKind>>(
      "kind", given.kind,
      std::array<std::optional<FactorKind>, 4>{std::nullopt, FactorKind::kCholesky,
                                               FactorKind::kLdlt, FactorKind::kLu});
  options.precision = choice("precision", given.precision,
                             std::array{Precision::kDouble, Precision::kSingle});
  options.prepare.scaling = choice("scaling", given.scaling,
                                   std::array{Scaling::kAuto, Scaling::kNone,
                                              Scaling::kEquilibrate, Scaling::kMatching});
  options.analysis.ordering = ordering_from(given.ordering);
  const bool adopted = adopts(given);
  if (given.workers != 0 || adopted) options.workers = given.workers;
  options.runtime_flops = runtime_flops(given, order);
  // Workers that cannot be are refused whether they are needed or not.
  if (!adopted) check(RuntimeOptions{options.workers, options.scheduler});
  take_refinement(given.no_refinement, given.estimate_errors, options);
  if (given.pivot_threshold != 0) options.pivot_threshold = given.pivot_threshold;
  if (given.delay_reserve != 0) options.delay_reserve = given.delay_reserve;
  if (given.budget != nullptr) options.budget = given.budget->budget;
  if (!(given.lease_seconds >= 0 && given.lease_seconds <= kMostSeconds))
    throw InvalidInput(fmt::format("options.lease_seconds is {}: not in 0 … {}",
                                   given.lease_seconds, kMostSeconds));
  options.lease_patience = Budget::Duration(given.lease_seconds);
  take_factor_options(given, options);
  if (given.out_of_core != nullptr) options.out_of_core = directory(given.out_of_core);
  check(options);
  options.analysis.order = order_from(given.order, order);
  options.schur = schur_from(given, order);
  return options;
}

InputMatrix matrix_from(const espalier_solver_matrix& matrix) {
  const MatrixView view = view_of(matrix);
  check(view);
  if (view.symmetric) return copy_of<SymmetricMatrix>(view);
  return copy_of<GeneralMatrix>(view);
}

void check_leading(const char* name, std::int64_t leading, std::int64_t order,
                   std::int64_t columns, std::int64_t number_bytes) {
  if (columns <= 0) return;
  if (leading < order)
    throw InvalidInput(
        fmt::format("{} is {}: less than the order, {}", name, leading, order));
  (void)checked_mul(checked_mul(leading, columns), number_bytes);
}

std::span<double> vectors_from(std::int32_t order, std::int32_t nrhs, double* vectors) {
  check_count(nrhs);
  const std::int64_t entries = checked_mul(order, nrhs);
  if (entries == 0) return {};
  need(vectors, "vectors");
  return {vectors, static_cast<std::size_t>(entries)};
}

}  // namespace espalier::solver::c_api
