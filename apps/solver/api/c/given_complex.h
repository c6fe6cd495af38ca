#pragma once

// Complex matrices of the C interface in the form that the caller has them in.

#include <cstdint>
#include <vector>

#include "espalier_solver.h"
#include "solver/api/c/given_matrix.h"
#include "solver/matrix/complex_matrix.h"

namespace espalier::solver::c_api {

/// GivenMatrix for values of two doubles each, real and imaginary part.
class GivenComplex {
 public:
  /// @throws InvalidInput as GivenMatrix
  explicit GivenComplex(const espalier_solver_input& input);

  /// The matrix with these values. Of one given as a whole the symmetry is found out.
  /// @throws InvalidInput as GivenMatrix; where a matrix that was said to be symmetric is
  ///         neither that nor Hermitian
  [[nodiscard]] ComplexMatrix with_values(const double* values) const;

  [[nodiscard]] bool transposed() const { return pattern_.transposed(); }
  [[nodiscard]] std::int64_t entries() const { return pattern_.entries(); }

 private:
  GivenMatrix pattern_;
  std::int32_t symmetry_;
  // Entries above the diagonal of a Hermitian matrix, which are conjugated on their way
  // to the lower triangle.
  std::vector<bool> above_;
};

}  // namespace espalier::solver::c_api
