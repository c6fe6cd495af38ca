#include "solver/complex/real_form.h"

#include <utility>

namespace espalier::solver {
namespace {

// The two columns of the blocks of a complex column. Of a block on the diagonal of a
// symmetric result the entry above it is left out.
template <class Real>
void append_columns(const ComplexMatrix& matrix, std::int32_t j, RealForm form,
                    Real& result) {
  const double sign = form == RealForm::kSymmetric ? -1 : 1;  // of the second row
  const auto append = [&result](std::int32_t row, double value) {
    result.row.push_back(row);
    result.value.push_back(value);
  };
  const auto first = matrix.column_start[j], last = matrix.column_start[j + 1];
  for (auto k = first; k < last; ++k) {
    append(2 * matrix.row[k], matrix.value[k].real());
    append(2 * matrix.row[k] + 1, sign * matrix.value[k].imag());
  }
  result.column_start.push_back(static_cast<std::int64_t>(result.row.size()));
  for (auto k = first; k < last; ++k) {
    if (form == RealForm::kGeneral || matrix.row[k] != j)
      append(2 * matrix.row[k], -matrix.value[k].imag());
    append(2 * matrix.row[k] + 1, sign * matrix.value[k].real());
  }
  result.column_start.push_back(static_cast<std::int64_t>(result.row.size()));
}

template <class Real>
Real blocks_of(const ComplexMatrix& matrix, RealForm form) {
  Real result;
  result.size = 2 * matrix.size;
  result.column_start.reserve(2 * static_cast<std::size_t>(matrix.size) + 1);
  result.column_start.push_back(0);
  result.row.reserve(4 * matrix.row.size());
  result.value.reserve(4 * matrix.row.size());
  for (std::int32_t j = 0; j < matrix.size; ++j) append_columns(matrix, j, form, result);
  return result;
}

}  // namespace

InputMatrix real_form(const ComplexMatrix& matrix, RealForm form) {
  if (form == RealForm::kGeneral) return blocks_of<GeneralMatrix>(matrix, form);
  return blocks_of<SymmetricMatrix>(matrix, form);
}

}  // namespace espalier::solver
