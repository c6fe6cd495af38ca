#pragma once

#include <cstdint>
#include <iterator>
#include <vector>

#include "solver/matrix/general_matrix.h"

namespace espalier::solver {

using DenseRows = std::vector<std::vector<double>>;  // by rows

// What is zero is not stored.
inline GeneralMatrix sparse(const DenseRows& a) {
  GeneralMatrix matrix{.size = static_cast<std::int32_t>(a.size()),
                       .column_start = {0},
                       .row = {},
                       .value = {}};
  for (std::int32_t j = 0; j < matrix.size; ++j) {
    for (std::int32_t i = 0; i < matrix.size; ++i)
      if (a[i][j] != 0) {
        matrix.row.push_back(i);
        matrix.value.push_back(a[i][j]);
      }
    matrix.column_start.push_back(std::ssize(matrix.row));
  }
  return matrix;
}

}  // namespace espalier::solver
