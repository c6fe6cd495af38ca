#include "results.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>
#include <utility>

namespace espalier::adapters::mumps {

void refuse(int code, int detail, const std::string& text) {
  throw Refusal{code, detail, text};
}

void refuse_status(int status) {
  const std::string text = espalier_solver_last_error();
  if (status == -ENOMEM) refuse(kBoundTooSmall, 0, text);
  refuse(kOther, status, text);
}

std::vector<std::int32_t> schur_variables(const DMUMPS_STRUC_C& id) {
  if (id.icntl[18] == 0) return {};
  if (id.size_schur < 0 || id.size_schur >= id.n)
    refuse(kBadSchur, id.size_schur, "SIZE_SCHUR is " + std::to_string(id.size_schur));
  if (id.size_schur > 0 && id.listvar_schur == nullptr)
    refuse(kMissing, 8, "LISTVAR_SCHUR is not there");
  std::vector<std::int32_t> variables(id.listvar_schur, id.listvar_schur + id.size_schur);
  for (std::int32_t& each : variables) --each;
  return variables;
}

void give_determinant(DMUMPS_STRUC_C& id, const Session& session) {
  std::int64_t exponent = 0;
  const int status =
      espalier_solver_read_determinant(session.solver(), &id.rinfog[11], &exponent);
  if (status != 0) refuse_status(status);
  id.infog[33] = static_cast<MUMPS_INT>(exponent);
}

void give_schur(DMUMPS_STRUC_C& id, const Session& session) {
  if (id.schur == nullptr) refuse(kMissing, 9, "SCHUR is not there");
  const std::int64_t n = id.size_schur;
  const int status = espalier_solver_read_schur(session.solver(), id.schur, n);
  if (status != 0) refuse_status(status);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < j; ++i)
      std::swap(id.schur[i + j * n], id.schur[j + i * n]);
}

void give_nan(DMUMPS_STRUC_C& id) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (id.icntl[32] != 0) id.rinfog[11] = kNan;
  const std::int64_t order = id.icntl[18] != 0 ? id.size_schur : 0;
  if (id.schur != nullptr) std::fill_n(id.schur, order * order, kNan);
}

namespace {

// The rows of the largest entries of a basis, found and eliminated column by column.
// @param basis  vectors of n entries, changed
std::vector<MUMPS_INT> rows_of(std::vector<double>& basis, std::int64_t n) {
  std::vector<MUMPS_INT> rows;
  const auto count = static_cast<std::int64_t>(basis.size()) / n;
  for (std::int64_t k = 0; k < count; ++k) {
    double* const vector = basis.data() + k * n;
    const double* const largest = std::max_element(
        vector, vector + n,
        [](double one, double other) { return std::abs(one) < std::abs(other); });
    const std::int64_t row = largest - vector;
    rows.push_back(static_cast<MUMPS_INT>(row) + 1);
    for (std::int64_t j = k + 1; j < count; ++j) {
      double* const other = basis.data() + j * n;
      const double factor = other[row] / *largest;
      for (std::int64_t i = 0; i < n; ++i) other[i] -= factor * vector[i];
      other[row] = 0;
    }
  }
  return rows;
}

}  // namespace

void give_null_pivots(DMUMPS_STRUC_C& id, const Session& session,
                      std::vector<MUMPS_INT>& rows) {
  constexpr std::int64_t kMostNumbers = std::int64_t{1} << 24;
  rows.clear();
  id.pivnul_list = nullptr;
  const std::int64_t n = id.n, count = session.statistics().null_space;
  if (count == 0 || count > kMostNumbers / n) return;
  std::vector<double> basis(static_cast<std::size_t>(n * count));
  if (espalier_solver_read_null_space(session.solver(), 1, basis.data(), n) != 0) return;
  rows = rows_of(basis, n);
  id.pivnul_list = rows.data();
}

void give_null_space(DMUMPS_STRUC_C& id, const Session& session) {
  const auto count = static_cast<MUMPS_INT>(session.statistics().null_space);
  const MUMPS_INT wanted = id.icntl[24];
  if (wanted < -1 || wanted > count)
    refuse(kBadNullSpace, wanted, "ICNTL(25) is " + std::to_string(wanted));
  if (id.nrhs != (wanted == -1 ? count : 1))
    refuse(kBadNullCount, id.nrhs, "NRHS is " + std::to_string(id.nrhs));
  const std::int64_t n = id.n;
  std::vector<double> basis(static_cast<std::size_t>(n * count));
  const int status =
      espalier_solver_read_null_space(session.solver(), 0, basis.data(), n);
  if (status != 0) refuse_status(status);
  const MUMPS_INT first = wanted == -1 ? 0 : wanted - 1;
  const std::int64_t leading = id.nrhs > 1 ? id.lrhs : n;
  for (MUMPS_INT k = first; k < (wanted == -1 ? count : wanted); ++k)
    std::copy_n(basis.data() + k * n, n, id.rhs + (k - first) * leading);
}

namespace {

// The columns of RHS_SPARSE; right-hand sides, not entries of the inverse, may be zero.
void check_sparse(const DMUMPS_STRUC_C& id) {
  const bool empty = id.nz_rhs == 0 && id.icntl[29] == 0;
  if (id.nz_rhs < 1 && !empty)
    refuse(kBadSparseCount, id.nz_rhs, "NZ_RHS is " + std::to_string(id.nz_rhs));
  if (empty) return;
  if (id.rhs_sparse == nullptr) refuse(kMissing, 10, "RHS_SPARSE is not there");
  if (id.irhs_sparse == nullptr) refuse(kMissing, 11, "IRHS_SPARSE is not there");
  if (id.irhs_ptr == nullptr) refuse(kMissing, 12, "IRHS_PTR is not there");
  if (id.irhs_ptr[id.nrhs] != id.nz_rhs + 1)
    refuse(kBadSparseEnd, id.irhs_ptr[id.nrhs],
           "IRHS_PTR does not end with NZ_RHS + 1 = " + std::to_string(id.nz_rhs + 1));
  if (id.irhs_ptr[0] != 1)
    refuse(kBadSparseBegin, id.irhs_ptr[0], "IRHS_PTR does not begin with 1");
  for (MUMPS_INT k = 1; k <= id.nrhs; ++k)
    if (id.irhs_ptr[k] < id.irhs_ptr[k - 1])
      refuse(kRefused, 20, "IRHS_PTR falls behind column " + std::to_string(k));
  for (MUMPS_INT at = 0; at < id.nz_rhs; ++at)
    if (id.irhs_sparse[at] < 1 || id.irhs_sparse[at] > id.n)
      refuse(kRefused, 20, "IRHS_SPARSE has " + std::to_string(id.irhs_sparse[at]));
}

}  // namespace

void spread_right_hand_sides(DMUMPS_STRUC_C& id, std::int64_t leading) {
  check_sparse(id);
  for (MUMPS_INT k = 0; k < id.nrhs; ++k) {
    double* const column = id.rhs + k * leading;
    std::fill_n(column, id.n, 0.0);
    if (id.nz_rhs == 0) continue;
    for (MUMPS_INT at = id.irhs_ptr[k] - 1; at < id.irhs_ptr[k + 1] - 1; ++at)
      column[id.irhs_sparse[at] - 1] += id.rhs_sparse[at];
  }
}

void give_inverse_entries(DMUMPS_STRUC_C& id, const Session& session) {
  if (id.nrhs != id.n)
    refuse(kBadInverseCount, id.nrhs, "entries of the inverse: NRHS is not N");
  check_sparse(id);
  if (!session.is_finite()) {
    std::fill_n(id.rhs_sparse, id.nz_rhs, std::numeric_limits<double>::quiet_NaN());
    return;
  }
  std::vector<std::int32_t> rows, columns;
  for (MUMPS_INT k = 0; k < id.nrhs; ++k)
    for (MUMPS_INT at = id.irhs_ptr[k] - 1; at < id.irhs_ptr[k + 1] - 1; ++at) {
      rows.push_back(id.irhs_sparse[at] - 1);
      columns.push_back(k);
    }
  const int status = espalier_solver_read_inverse(
      session.solver(), id.nz_rhs, rows.data(), columns.data(), id.rhs_sparse);
  if (status != 0) refuse_status(status);
}

}  // namespace espalier::adapters::mumps
