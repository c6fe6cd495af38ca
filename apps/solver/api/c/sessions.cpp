// The C interface: matrices in any form, blocks of vectors, bounds.

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "espalier/machine/memory_limits.h"
#include "espalier/model/units.h"
#include "solver/api/c/columns.h"
#include "solver/api/c/handle.h"
#include "solver/api/worst_of.h"
#include "solver/matrix/check_matrix.h"

using namespace espalier;
using namespace espalier::solver;
using namespace espalier::solver::c_api;

namespace {

// On M = A^T, where it is `across`, or A.
ComplexOperation complex_operation(bool across, std::int32_t transposed) {
  if (across)
    return transposed == 0 ? ComplexOperation::kTransposed : ComplexOperation::kPlain;
  return transposed == 0   ? ComplexOperation::kPlain
         : transposed == 1 ? ComplexOperation::kTransposed
                           : ComplexOperation::kConjugateTransposed;
}

// Of M = A^T: A^-H b is the conjugate of M^-1 times that of b.
Solution solve_complex(espalier_solver& handle, std::int32_t transposed,
                       std::int32_t nrhs, std::span<Complex> b,
                       const std::function<void(double)>& progress) {
  if (transposed < 0 || transposed > 2)
    throw InvalidInput(fmt::format("transposed is {}: not one of 0 … 2", transposed));
  const bool around = handle.transposed() && transposed == 2;
  if (around) conjugate(b);
  Solution solution = handle.complex->solve(
      b, nrhs, complex_operation(handle.transposed(), transposed), {}, progress);
  if (around) conjugate(b);
  return solution;
}

}  // namespace

Solution c_api::solve(espalier_solver& handle, std::int32_t transposed, std::int32_t nrhs,
                      std::span<double> b, const std::function<void(double)>& progress) {
  if (handle.complex)
    return solve_complex(handle, transposed, nrhs, complex_numbers(b), progress);
  return handle.solver->solve(b, nrhs, operation_of(handle, transposed), {}, progress);
}

namespace {

void check_transposed(const espalier_solver& handle, std::int32_t transposed) {
  if (!handle.complex) return (void)operation_of(handle, transposed);
  if (transposed < 0 || transposed > 2)
    throw InvalidInput(fmt::format("transposed is {}: not one of 0 … 2", transposed));
}

// Of M = A^T = L U: A = U^T L^T.
FactorPart across(FactorPart part) {
  if (part == FactorPart::kD) return part;
  return part == FactorPart::kL ? FactorPart::kU : FactorPart::kL;
}

// Of M = A^T = L U the caller's L is U^T, so P^-1 is U^-T, P^-T is U^-1, and P^-H its
// conjugate. A symmetric M is A; the factors of a Hermitian one are the conjugates of
// A's.
void solve_part(espalier_solver& handle, FactorPart part, std::int32_t transposed,
                std::int32_t nrhs, std::span<double> b,
                const std::function<void(double)>& progress) {
  const bool crosses =
      handle.transposed() && handle.factoring().kind() == FactorKind::kLu;
  const FactorPart mine = crosses ? across(part) : part;
  if (!handle.complex)
    return handle.solver->solve_part(mine, b, nrhs, operation_of(handle, transposed),
                                     progress);
  const std::span<Complex> numbers = complex_numbers(b);
  const bool hermitian = handle.factoring().complex() == ComplexSymmetry::kHermitian;
  const bool around = crosses ? transposed == 2 : handle.transposed() && hermitian;
  if (around) conjugate(numbers);
  handle.complex->solve_part(mine, numbers, nrhs, complex_operation(crosses, transposed),
                             progress);
  if (around) conjugate(numbers);
}

// Calls solve(vectors, count, progress) with vectors one right after the other: where
// they are where they stand so, else with copies of all; inside a bound, which has no
// room for these, with one at a time.
template <class Solve>
void solve_columns(const espalier_solver& handle, const Columns& given, Solve solve) {
  const auto progress = progress_of(handle);
  const std::int64_t parts = handle.parts(), n = parts * handle.order(),
                     ldb = given.ldb * parts, ldx = given.ldx * parts;
  const std::int32_t nrhs = given.count;
  const bool together = nrhs == 1 || ldx == n;
  const std::int32_t at_once = together || !handle.bounded ? nrhs : 1;
  std::vector<double> copy(together || at_once == 1 ? 0
                                                    : static_cast<std::size_t>(n * nrhs));
  for (std::int32_t first = 0; first < nrhs; first += at_once) {
    double* const x = given.x + first * ldx;
    double* const dense = copy.empty() ? x : copy.data();
    for (std::int32_t k = 0; k < at_once; ++k)
      if (const double* const b = given.b + (first + k) * ldb; dense + k * n != b)
        std::copy_n(b, n, dense + k * n);
    std::function<void(double)> part;
    if (progress) part = [&](double done) { progress((first + done * at_once) / nrhs); };
    solve(std::span(dense, static_cast<std::size_t>(n * at_once)), at_once, part);
    for (std::int32_t k = 0; !copy.empty() && k < at_once; ++k)
      std::copy_n(dense + k * n, n, x + k * ldx);
  }
}

template <class Given>
void analyse_alone(espalier_solver& handle, const Given& matrix,
                   const espalier_solver_input& input,
                   const espalier_solver_options& options) {
  SolverOptions chosen = options_from(options, input.order);
  if (factors_as_general(given_input(input), chosen)) chosen.kind = FactorKind::kLu;
  chosen.of_transposed = matrix.transposed();
  take_progress(handle, options, chosen);
  construct(handle, matrix.with_values(input.values), chosen, options);
}

}  // namespace

bool c_api::factors_as_general(const espalier_solver_input& given,
                               const SolverOptions& chosen) {
  return given.scalar == ESPALIER_SOLVER_COMPLEX && !chosen.kind &&
         given.symmetry == ESPALIER_SOLVER_GENERAL;
}

void c_api::check_values(const espalier_solver& handle, const double* values,
                         std::int64_t entries) {
  const std::int64_t analysed =
      handle.complex ? handle.given_complex->entries() : handle.given->entries();
  if (entries != analysed)
    throw InvalidInput(fmt::format("entries is {}: {} were analysed", entries, analysed));
  if (entries > 0) need(values, "values");
}

void c_api::make_room_for_values(espalier_solver& handle) {
  if (handle.bounded) handle.factoring().release_factor();
}

int espalier_solver_analyse(espalier_solver** solver, const espalier_solver_input* input,
                            const espalier_solver_options* options) {
  return guarded([&] {
    need(solver, "solver") = nullptr;
    const espalier_solver_input& given = need(input, "input");
    std::unique_ptr<espalier_solver> handle(new espalier_solver);
    const espalier_solver_options known = known_options(options);
    handle->processes = processes_of(known);
    if (handle->processes != nullptr)
      analyse_together(*handle, given, known);
    else if (given_input(given).scalar == ESPALIER_SOLVER_COMPLEX)
      analyse_alone(*handle, handle->given_complex.emplace(given), given, known);
    else
      analyse_alone(*handle, handle->given.emplace(given), given, known);
    handle->analysed = true;
    *solver = handle.release();
    return 0;
  });
}

int espalier_solver_factorise_values(espalier_solver* solver, const double* values,
                                     int64_t entries) {
  return guarded([&] {
    espalier_solver& handle = need(solver, "solver");
    if (!handle.analysed)
      return fail(EINVAL, "factorise_values: for a solver of espalier_solver_analyse()");
    need_plan(handle, "factorise_values");
    if (handle.processes != nullptr) return factorise_together(handle, values, entries);
    check_values(handle, values, entries);
    handle.factored = handle.has_values = false;
    make_room_for_values(handle);
    if (handle.complex)
      return factorise_with(handle, handle.given_complex->with_values(values));
    return factorise_with(handle, handle.given->with_values(values));
  });
}

int espalier_solver_solve_block(espalier_solver* solver, int32_t transposed, int32_t nrhs,
                                const double* b, int64_t ldb, double* x, int64_t ldx) {
  return guarded([&] {
    espalier_solver& handle = need(solver, "solver");
    need_factor(handle, "solve_block");
    if (!handle.complex) (void)operation_of(handle, transposed);
    const Columns given{nrhs, b, ldb, x, ldx};
    if (!check_columns(handle, given)) return 0;
    Solution solution;
    solve_columns(handle, given,
                  [&](std::span<double> vectors, std::int32_t count, auto& progress) {
                    keep_worst(solution,
                               solve(handle, transposed, count, vectors, progress));
                  });
    handle.solution = solution;
    return 0;
  });
}

int espalier_solver_solve_part(espalier_solver* solver, int32_t part, int32_t transposed,
                               int32_t nrhs, const double* b, int64_t ldb, double* x,
                               int64_t ldx) {
  return guarded([&] {
    espalier_solver& handle = need(solver, "solver");
    need_factor(handle, "solve_part");
    if (part < ESPALIER_SOLVER_PART_L || part > ESPALIER_SOLVER_PART_U)
      throw InvalidInput(fmt::format("part is {}: not one of 1 … 3", part));
    check_transposed(handle, transposed);
    const Columns given{nrhs, b, ldb, x, ldx};
    if (check_columns(handle, given))
      solve_columns(handle, given,
                    [&](std::span<double> vectors, std::int32_t count, auto& progress) {
                      solve_part(handle, static_cast<FactorPart>(part - 1), transposed,
                                 count, vectors, progress);
                    });
    return 0;
  });
}

int espalier_solver_set_progress(espalier_solver* solver,
                                 espalier_solver_progress progress, void* context) {
  return guarded([&] {
    espalier_solver& handle = need(solver, "solver");
    handle.progress = progress;
    handle.progress_context = context;
    return 0;
  });
}

int espalier_solver_read_order(const espalier_solver* solver, int32_t* order) {
  return guarded([&] {
    const espalier_solver& handle = need(solver, "solver");
    const auto& permutation = handle.factoring().analysis().symbolic.permutation;
    if (permutation.empty()) return 0;
    std::ranges::copy(permutation, &need(order, "order"));
    return 0;
  });
}

int espalier_solver_available_memory(int64_t* bytes, char* source, size_t source_size) {
  return guarded([&] {
    const MemoryRoom room = memory_room();
    need(bytes, "bytes") = room.bytes;
    if (source == nullptr || source_size == 0) return 0;
    const std::size_t length = std::min(source_size - 1, room.source.size());
    std::memcpy(source, room.source.data(), length);
    source[length] = 0;
    return 0;
  });
}

int espalier_solver_parse_memory(const char* text, int64_t* bound) {
  return guarded([&] {
    const std::string_view given = &need(text, "text");
    std::int64_t& result = need(bound, "bound");
    if (given == "min") {
      result = ESPALIER_SOLVER_MEMORY_LEAST;
    } else if (given == "auto") {
      result = ESPALIER_SOLVER_MEMORY_AUTO;
    } else if (given == "none") {
      result = std::numeric_limits<std::int64_t>::max();
    } else {
      result = parse_size(given);
      if (result <= 0) throw InvalidInput(fmt::format("a bound of {} bytes", result));
    }
    return 0;
  });
}

const char* espalier_solver_version(void) { return ESPALIER_VERSION; }
