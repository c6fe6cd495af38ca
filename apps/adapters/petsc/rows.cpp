#include "rows.h"

#include <numeric>

namespace espalier::adapters {
namespace {

PetscErrorCode is_of_type(Mat matrix, MatType type, PetscBool* is) {
  return PetscObjectTypeCompare(reinterpret_cast<PetscObject>(matrix), type, is);
}

// Calls visit(row, entries, columns, values) with the rows of this process. Of mpisbaij
// PETSc gives the upper triangle, when it is told that this is what is wanted.
template <class Visit>
PetscErrorCode for_each_row(Mat matrix, Visit visit) {
  PetscFunctionBegin;
  PetscBool halved = PETSC_FALSE;
  PetscInt first = 0, last = 0;
  PetscCall(is_of_type(matrix, MATMPISBAIJ, &halved));
  PetscCall(MatGetOwnershipRange(matrix, &first, &last));
  if (halved) PetscCall(MatGetRowUpperTriangular(matrix));
  for (PetscInt row = first; row < last; ++row) {
    PetscInt count = 0;
    const PetscInt* columns = nullptr;
    const PetscScalar* values = nullptr;
    PetscCall(MatGetRow(matrix, row, &count, &columns, &values));
    visit(row, count, columns, values);
    PetscCall(MatRestoreRow(matrix, row, &count, &columns, &values));
  }
  if (halved) PetscCall(MatRestoreRowUpperTriangular(matrix));
  PetscFunctionReturn(0);
}

// Calls visit(n, offsets, columns) with those of a matrix of one process.
template <class Visit>
PetscErrorCode with_rows(Mat matrix, Visit visit) {
  PetscFunctionBegin;
  PetscInt n = 0;
  const PetscInt *ia = nullptr, *ja = nullptr;
  PetscBool done = PETSC_FALSE;
  PetscCall(MatGetRowIJ(matrix, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "rows of this matrix are not there");
  visit(n, ia, ja);
  PetscCall(MatRestoreRowIJ(matrix, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
  PetscFunctionReturn(0);
}

}  // namespace

void Fingerprint::add(const PetscInt* numbers, PetscInt count) {
  for (PetscInt k = 0; k < count; ++k) {
    sum_ = (sum_ ^ static_cast<std::uint64_t>(numbers[k])) * 0x9e3779b97f4a7c15u;
    sum_ ^= sum_ >> 32;
  }
}

PetscErrorCode Rows::check_pattern(const Fingerprint& found,
                                   const Processes& processes) const {
  PetscFunctionBegin;
  bool same = found == pattern_;
  PetscCall(processes.everywhere(&same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
             "Espalier: a matrix of another pattern than the one that was analysed");
  PetscFunctionReturn(0);
}

PetscErrorCode Rows::read_own_pattern(Mat matrix) {
  return with_rows(matrix, [&](PetscInt n, const PetscInt* ia, const PetscInt* ja) {
    pattern_.add(ia, n + 1);
    pattern_.add(ja, ia[n]);
    for (PetscInt i = 0; i < n; ++i) {
      for (PetscInt at = ia[i]; at < ia[i + 1]; ++at) {
        if (!takes(i, ja[at])) continue;
        columns_.push_back(ja[at]);
        taken_.push_back(at);
      }
      starts_.push_back(static_cast<PetscInt>(columns_.size()));
    }
    if (static_cast<PetscInt>(taken_.size()) == ia[n]) taken_.clear();
  });
}

PetscErrorCode Rows::gather_pattern(Mat matrix, Processes& processes) {
  PetscFunctionBegin;
  std::vector<PetscInt> counts, columns, all_counts;
  PetscCall(for_each_row(matrix, [&](PetscInt row, PetscInt count, const PetscInt* given,
                                     const PetscScalar*) {
    const std::size_t before = columns.size();
    pattern_.add(&count, 1);
    pattern_.add(given, count);
    for (PetscInt k = 0; k < count; ++k)
      if (takes(row, given[k])) columns.push_back(given[k]);
    counts.push_back(static_cast<PetscInt>(columns.size() - before));
  }));
  PetscCall(processes.gather(counts, all_counts));
  PetscCall(processes.gather(columns, columns_));
  std::partial_sum(all_counts.begin(), all_counts.end(), std::back_inserter(starts_));
  PetscFunctionReturn(0);
}

PetscErrorCode Rows::read_pattern(Mat matrix, bool upper, Processes& processes) {
  PetscFunctionBegin;
  upper_ = upper;
  starts_.assign(1, 0);
  columns_.clear();
  taken_.clear();
  pattern_ = {};
  if (processes.several())
    PetscCall(gather_pattern(matrix, processes));
  else
    PetscCall(read_own_pattern(matrix));
  PetscFunctionReturn(0);
}

void Rows::release_pattern() {
  decltype(starts_)().swap(starts_);  // = {} would keep the memory
  decltype(columns_)().swap(columns_);
}

PetscErrorCode Rows::read_own_values(Mat matrix, const Processes& processes,
                                     const double** values) {
  PetscFunctionBegin;
  PetscBool halved = PETSC_FALSE;
  Fingerprint found;
  PetscCall(with_rows(matrix, [&](PetscInt n, const PetscInt* ia, const PetscInt* ja) {
    found.add(ia, n + 1);
    found.add(ja, ia[n]);
  }));
  PetscCall(check_pattern(found, processes));
  PetscCall(is_of_type(matrix, MATSEQSBAIJ, &halved));
  if (halved) {
    PetscScalar* writable = nullptr;
    PetscCall(MatSeqSBAIJGetArray(matrix, &writable));
    borrowed_ = writable;
  } else {
    PetscCall(MatSeqAIJGetArrayRead(matrix, &borrowed_));
  }
  *values = borrowed_;
  if (taken_.empty()) PetscFunctionReturn(0);
  values_.resize(taken_.size());
  for (std::size_t k = 0; k < taken_.size(); ++k) values_[k] = borrowed_[taken_[k]];
  *values = values_.data();
  PetscFunctionReturn(0);
}

PetscErrorCode Rows::read_values(Mat matrix, Processes& processes,
                                 const double** values) {
  PetscFunctionBegin;
  if (!processes.several()) {
    PetscCall(read_own_values(matrix, processes, values));
    PetscFunctionReturn(0);
  }
  std::vector<double> own;
  Fingerprint found;
  PetscCall(for_each_row(matrix, [&](PetscInt row, PetscInt count,
                                     const PetscInt* columns, const PetscScalar* given) {
    found.add(&count, 1);
    found.add(columns, count);
    for (PetscInt k = 0; k < count; ++k)
      if (takes(row, columns[k])) own.push_back(given[k]);
  }));
  PetscCall(check_pattern(found, processes));
  PetscCall(processes.gather(own, values_));
  *values = values_.data();
  PetscFunctionReturn(0);
}

PetscErrorCode Rows::restore_values(Mat matrix, const Processes& processes) {
  PetscFunctionBegin;
  PetscBool halved = PETSC_FALSE;
  if (processes.several()) {
    decltype(values_)().swap(values_);
    PetscFunctionReturn(0);
  }
  PetscCall(is_of_type(matrix, MATSEQSBAIJ, &halved));
  if (halved) {
    auto* writable = const_cast<PetscScalar*>(borrowed_);
    PetscCall(MatSeqSBAIJRestoreArray(matrix, &writable));
  } else {
    PetscCall(MatSeqAIJRestoreArrayRead(matrix, &borrowed_));
  }
  borrowed_ = nullptr;
  PetscFunctionReturn(0);
}

}  // namespace espalier::adapters
