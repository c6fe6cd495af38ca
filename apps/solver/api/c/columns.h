#pragma once

// Right-hand sides and solutions as a caller has them: vectors with gaps between.

#include <cstdint>

#include "solver/api/c/handle.h"

namespace espalier::solver::c_api {

struct Columns {
  std::int32_t count;
  const double* b;
  std::int64_t ldb;  ///< in numbers of the matrix, as is ldx
  double* x;
  std::int64_t ldx;
};

/// Vectors are taken for either the very same ones or apart from each other, since those
/// of x are written while some of b are still to be read.
/// @return false: there is nothing to do
/// @throws InvalidInput naming what cannot be; OverflowError
/// @par Test  SessionArguments.*
[[nodiscard]] bool check_columns(const espalier_solver& handle, const Columns& given);

}  // namespace espalier::solver::c_api
