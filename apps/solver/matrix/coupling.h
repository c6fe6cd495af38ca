#pragma once

#include <cstdint>
#include <vector>

#include "solver/matrix/entry.h"
#include "solver/matrix/general_matrix.h"

namespace espalier::solver {

/// The entries of a block triangular matrix outside its diagonal blocks; of order 0:
/// there are none.
struct Coupling : GeneralMatrix {
  /// Empty: real, as are the values. Otherwise those are real parts, and these the
  /// imaginary ones.
  std::vector<double> imaginary = {};

  /// Entry number k, as a number of type T.
  template <class T>
  [[nodiscard]] T entry(std::int64_t k) const {
    if constexpr (kIsComplex<T>)
      return {value[k], imaginary[k]};
    else
      return value[k];
  }
};

}  // namespace espalier::solver
