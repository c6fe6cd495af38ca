#pragma once

#include <cstdint>
#include <vector>

#include "solver/matrix/entry.h"
#include "solver/matrix/general_matrix.h"

namespace espalier::solver {

/// The entries of a matrix outside the diagonal blocks that are factored; of order 0:
/// there are none. But for those of unmatched variables they form no circle of blocks.
struct Coupling : GeneralMatrix {
  /// Empty: real, as are the values. Otherwise those are real parts, and these the
  /// imaginary ones.
  std::vector<double> imaginary = {};
  /// Increasing: the variables, a row and a column each, that a maximum matching of the
  /// pattern leaves out. All of their entries are here. Without them a matrix of full
  /// structural rank is left, and where that one is regular their rows depend on its rows
  /// and their columns on its columns: of solutions the one that is zero there is taken,
  /// and their equations hold by themselves or there is none.
  std::vector<std::int32_t> unmatched = {};

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
