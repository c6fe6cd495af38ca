// The C interface: what a factor tells beside solutions.

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "solver/api/c/handle.h"

using namespace espalier;
using namespace espalier::solver;
using namespace espalier::solver::c_api;

namespace {

// Columns of `rows` entries each, `leading` apart.
void give(std::span<const double> dense, std::int64_t rows, double* to,
          std::int64_t leading) {
  for (std::int64_t at = 0; at < std::ssize(dense); at += rows, to += leading)
    std::copy_n(dense.data() + at, rows, to);
}

// @tparam T  double or Complex
template <class T>
void transpose(std::span<T> square, std::int64_t order) {
  for (std::int64_t j = 0; j < order; ++j)
    for (std::int64_t i = 0; i < j; ++i)
      std::swap(square[i + j * order], square[j + i * order]);
}

// By the caller's names: of a matrix by rows what is solved with is the transposed one.
void check_indices(const char* name, std::span<const std::int32_t> indices,
                   std::int32_t order) {
  for (std::size_t k = 0; k < indices.size(); ++k)
    if (indices[k] < 0 || indices[k] >= order)
      throw InvalidInput(fmt::format("read_inverse: {}[{}] is {}: not in 0 … {}", name, k,
                                     indices[k], order - 1));
}

// Null vectors of A^H are those of A^T, conjugated.
std::vector<Complex> complex_null_space(espalier_solver& handle,
                                        std::int32_t transposed) {
  if (transposed < 0 || transposed > 2)
    throw InvalidInput(fmt::format("transposed is {}: not one of 0 … 2", transposed));
  const bool across = handle.transposed() != (transposed != 0);
  std::vector<Complex> vectors = handle.complex->null_space_basis(
      across ? ComplexOperation::kTransposed : ComplexOperation::kPlain);
  if (transposed == 2) conjugate(vectors);
  return vectors;
}

}  // namespace

int espalier_solver_read_determinant(const espalier_solver* solver, double* mantissa,
                                     int64_t* exponent) {
  return guarded([&] {
    const espalier_solver& handle = need(solver, "solver");
    need(mantissa, "mantissa");
    need(exponent, "exponent");
    need_factor(handle, "read_determinant");
    if (handle.complex)
      return fail(
          EINVAL,
          "read_determinant: the matrix is complex; use read_complex_determinant");
    const Determinant found = handle.solver->determinant();
    *mantissa = found.mantissa;
    *exponent = found.exponent;
    return 0;
  });
}

int espalier_solver_read_complex_determinant(const espalier_solver* solver,
                                             double* mantissa, int64_t* exponent,
                                             double* argument) {
  return guarded([&] {
    const espalier_solver& handle = need(solver, "solver");
    need(mantissa, "mantissa");
    need(exponent, "exponent");
    need(argument, "argument");
    need_factor(handle, "read_complex_determinant");
    if (!handle.complex)
      return fail(EINVAL,
                  "read_complex_determinant: the matrix is real; use read_determinant");
    const ComplexDeterminant found = handle.complex->determinant();
    *mantissa = found.modulus.mantissa;
    *exponent = found.modulus.exponent;
    *argument = found.argument;
    return 0;
  });
}

int espalier_solver_read_schur(const espalier_solver* solver, double* block,
                               int64_t leading) {
  return guarded([&] {
    const espalier_solver& handle = need(solver, "solver");
    need(block, "block");
    need_factor(handle, "read_schur");
    const std::int64_t kept = handle.kept(), parts = handle.parts();
    check_leading("leading", leading, kept, kept, handle.number_bytes());
    const auto entries = static_cast<std::size_t>(parts * kept * kept);
    // A copy, which the bound has no room for, only where something stands between.
    std::vector<double> copy(leading == kept ? 0 : entries);
    const std::span<double> dense(copy.empty() ? block : copy.data(), entries);
    if (handle.complex) {
      handle.complex->schur(complex_numbers(dense));
      if (handle.transposed()) transpose(complex_numbers(dense), kept);
    } else {
      handle.solver->schur(dense);
      if (handle.transposed()) transpose(dense, kept);
    }
    if (!copy.empty()) give(copy, parts * kept, block, parts * leading);
    return 0;
  });
}

int espalier_solver_read_inverse(espalier_solver* solver, int64_t count,
                                 const int32_t* rows, const int32_t* columns,
                                 double* values) {
  return guarded([&] {
    espalier_solver& handle = need(solver, "solver");
    need_factor(handle, "read_inverse");
    if (count < 0) throw InvalidInput(fmt::format("count is {}: negative", count));
    if (count == 0) return 0;
    const auto entries = static_cast<std::size_t>(count);
    (void)checked_mul(count, std::int64_t{2 * sizeof(double)});
    std::span<const std::int32_t> first(&need(rows, "rows"), entries),
        second(&need(columns, "columns"), entries);
    check_indices("rows", first, handle.order());
    check_indices("columns", second, handle.order());
    // Of the transposed matrix.
    if (handle.transposed()) std::swap(first, second);
    const auto parts = static_cast<std::size_t>(handle.parts());
    handle.factoring().inverse_entries(
        first, second, {&need(values, "values"), parts * entries}, progress_of(handle));
    return 0;
  });
}

int espalier_solver_read_null_space(espalier_solver* solver, int32_t transposed,
                                    double* basis, int64_t leading) {
  return guarded([&] {
    espalier_solver& handle = need(solver, "solver");
    need_factor(handle, "read_null_space");
    const std::int64_t order = handle.order(), count = handle.null_space();
    if (!handle.complex) (void)operation_of(handle, transposed);
    if (count == 0) return 0;
    need(basis, "basis");
    check_leading("leading", leading, order, count, handle.number_bytes());
    if (handle.complex) {
      std::vector<Complex> vectors = complex_null_space(handle, transposed);
      give(parts_of(vectors), 2 * order, basis, 2 * leading);
    } else {
      give(handle.solver->null_space_basis(operation_of(handle, transposed)), order,
           basis, leading);
    }
    return 0;
  });
}
