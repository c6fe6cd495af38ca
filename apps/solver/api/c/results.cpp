// The C interface: what a factor tells beside solutions.

#include <algorithm>
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

void transpose(std::span<double> square, std::int64_t order) {
  for (std::int64_t j = 0; j < order; ++j)
    for (std::int64_t i = 0; i < j; ++i)
      std::swap(square[i + j * order], square[j + i * order]);
}

}  // namespace

int espalier_solver_read_determinant(const espalier_solver* solver, double* mantissa,
                                     int64_t* exponent) {
  return guarded([&] {
    const espalier_solver& handle = need(solver, "solver");
    need(mantissa, "mantissa");
    need(exponent, "exponent");
    need_factor(handle, "read_determinant");
    const Determinant found = handle.solver->determinant();
    *mantissa = found.mantissa;
    *exponent = found.exponent;
    return 0;
  });
}

int espalier_solver_read_schur(const espalier_solver* solver, double* block,
                               int64_t leading) {
  return guarded([&] {
    const espalier_solver& handle = need(solver, "solver");
    need(block, "block");
    need_factor(handle, "read_schur");
    const std::int64_t kept = handle.solver->analysis().symbolic.kept();
    check_leading("leading", leading, handle.solver->analysis().symbolic.kept(), kept);
    std::vector<double> dense(static_cast<std::size_t>(kept * kept));
    handle.solver->schur(dense);
    if (handle.given && handle.given->transposed()) transpose(dense, kept);
    give(dense, kept, block, leading);
    return 0;
  });
}

int espalier_solver_read_null_space(espalier_solver* solver, int32_t transposed,
                                    double* basis, int64_t leading) {
  return guarded([&] {
    espalier_solver& handle = need(solver, "solver");
    need_factor(handle, "read_null_space");
    const Operation operation = operation_of(handle, transposed);
    const std::int64_t order = handle.solver->analysis().symbolic.size;
    const std::int64_t count = handle.solver->null_space();
    if (count == 0) return 0;
    need(basis, "basis");
    check_leading("leading", leading, order, count);
    give(handle.solver->null_space_basis(operation), order, basis, leading);
    return 0;
  });
}
