#pragma once

// Matrices of PETSc's as the solver takes them.

#include <cstdint>
#include <vector>

#include "processes.h"

namespace espalier::adapters {

/// Of a pattern, in a number: two of them as good as never have the same one.
class Fingerprint {
 public:
  void add(const PetscInt* numbers, PetscInt count);
  bool operator==(const Fingerprint&) const = default;

 private:
  std::uint64_t sum_ = 0;
};

/// Rows with their columns from 0, of a Cholesky factorisation the upper triangle; those
/// of a matrix over several processes at process 0.
class Rows {
 public:
  /// Collective.
  PetscErrorCode read_pattern(Mat matrix, bool upper, Processes& processes);
  /// n + 1 offsets, and columns; where there is anything to give.
  [[nodiscard]] const std::vector<PetscInt>& starts() const { return starts_; }
  [[nodiscard]] const std::vector<PetscInt>& columns() const { return columns_; }
  /// It is known to the solver.
  void release_pattern();

  /// The values of the pattern, collective; valid until restore_values(). A matrix of
  /// another pattern is PETSC_ERR_ARG_WRONG.
  PetscErrorCode read_values(Mat matrix, Processes& processes, const double** values);
  PetscErrorCode restore_values(Mat matrix, const Processes& processes);

 private:
  /// Whether an entry is of the pattern.
  [[nodiscard]] bool takes(PetscInt row, PetscInt column) const {
    return !upper_ || column >= row;
  }
  PetscErrorCode read_own_pattern(Mat matrix);
  PetscErrorCode read_own_values(Mat matrix, const Processes& processes,
                                 const double** values);
  PetscErrorCode check_pattern(const Fingerprint& found,
                               const Processes& processes) const;
  PetscErrorCode gather_pattern(Mat matrix, Processes& processes);

  bool upper_ = false;
  Fingerprint pattern_;  // of the own rows
  std::vector<PetscInt> starts_, columns_;
  // Of one process.
  std::vector<PetscInt> taken_;            // of PETSc's values; empty: all in order
  const PetscScalar* borrowed_ = nullptr;  // of PETSc
  std::vector<double> values_;             // gathered, or what `taken_` says
};

}  // namespace espalier::adapters
