#pragma once

#include <cstdint>

#include "solver/matrix/complex_matrix.h"
#include "solver/matrix/triplets.h"

namespace espalier::solver {

/// What a file says about the triangle that it leaves out.
enum class FileSymmetry : std::int8_t {
  kGeneral,    ///< it leaves none out
  kSymmetric,  ///< the transposed
  kSkew,       ///< the transposed times -1
  kHermitian,  ///< the transposed and conjugated
};

/// The entries of a complex matrix in the order of a file, in either triangle.
class ComplexEntries {
 public:
  void append(FileSymmetry symmetry, std::int32_t row, std::int32_t column,
              Complex value);
  /// The matrix: values of an entry given several times are added in the order in which
  /// they came. A general one whose triangles agree is Hermitian or symmetric.
  [[nodiscard]] ComplexMatrix assembled(FileSymmetry symmetry, std::int32_t size) &&;

 private:
  // Real and imaginary parts at the same places, so that both have one pattern.
  struct Parts {
    Triplets real, imaginary;
  };
  Parts lower_, upper_;
};

}  // namespace espalier::solver
