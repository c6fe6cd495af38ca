#pragma once

// What the functions of the C interface share.

#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include "espalier/model/c_interface.h"
#include "espalier/model/error.h"
#include "espalier_solver.h"
#include "solver/api/solver.h"
#include "solver/memory/address_space.h"

namespace espalier::solver::c_api {

// Sizes that the structs have had, in order; the last one is the present one. A version
// that appends fields appends its size.
inline constexpr std::size_t kOptionsSizes[] = {64, 72, 104, 112, 120, 128, 144};
inline constexpr std::size_t kStatisticsSizes[] = {208, 216, 224, 232};

/// Keeps the text for espalier_solver_last_error(). @return -code
int fail(int code, const char* text) noexcept;
inline int fail(int code, const std::string& text) noexcept {
  return fail(code, text.c_str());
}
[[nodiscard]] const char* last_error() noexcept;

/// Every function of the interface runs in here: what is thrown ends as a code.
template <class Function>
int guarded(Function&& function) noexcept {
  const auto keep = [](int code, const char* text) { return fail(code, text); };
  return espalier::guarded(
      [&] {
        try {
          return function();
        } catch (const Busy& e) {
          return fail(EBUSY, e.what());
        } catch (const MemoryLimit& e) {
          return fail(ENOMEM, e.what());
        } catch (const std::length_error&) {
          return fail(ENOMEM, "out of memory");
        }
      },
      keep);
}

/// The options in this version's layout. @param given  null: the defaults
/// @throws InvalidInput on a size that no version had
[[nodiscard]] espalier_solver_options known_options(const espalier_solver_options* given);

/// What solves do beside solving, of the options of these names.
/// @throws InvalidInput naming the option and the value
void take_refinement(std::int32_t no_refinement, std::int32_t estimate_errors,
                     SolverOptions& options);

/// @param order    of the matrix, which decides on the runtime and is the length of
///                 options.order; -1: not known yet
/// @throws InvalidInput naming the option and the value
[[nodiscard]] SolverOptions options_from(const espalier_solver_options& options,
                                         std::int64_t order);

/// Whether the options ask for the program's StarPU: their workers may be 0 then.
[[nodiscard]] bool adopts(const espalier_solver_options& options);

/// Of vectors or columns one after the other, of numbers of so many bytes.
/// @throws InvalidInput naming `leading`, OverflowError
void check_leading(const char* name, std::int64_t leading, std::int64_t order,
                   std::int64_t columns, std::int64_t number_bytes);

/// A copy. @throws InvalidInput naming the column or the entry that cannot be
[[nodiscard]] InputMatrix matrix_from(const espalier_solver_matrix& matrix);

/// Solver::solve() looks at the entries. @throws InvalidInput
[[nodiscard]] std::span<double> vectors_from(std::int32_t order, std::int32_t nrhs,
                                             double* vectors);

}  // namespace espalier::solver::c_api
