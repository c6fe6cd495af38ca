#pragma once

#include <cstdint>

#include "espalier/model/units.h"
#include "espalier/solver/matrix.h"

namespace espalier::solver {

/// Of an entry of the factor.
[[nodiscard]] constexpr Bytes bytes_of(Precision precision) {
  return precision == Precision::kSingle ? sizeof(float) : sizeof(double);
}

}  // namespace espalier::solver
