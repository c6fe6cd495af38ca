#pragma once

#include <cstdint>

#include "espalier/model/units.h"

namespace espalier::solver {

/// How a matrix is factored.
enum class FactorKind : std::int8_t {
  kCholesky,  ///< L L^T: symmetric positive definite
  kLdlt,      ///< L D L^T with 1 x 1 and 2 x 2 pivots: symmetric
  kLu,        ///< L U on a symmetric pattern
};

enum class Precision : std::int8_t { kDouble, kSingle };

/// Of an entry of the factor.
[[nodiscard]] constexpr Bytes bytes_of(Precision precision) {
  return precision == Precision::kSingle ? sizeof(float) : sizeof(double);
}

}  // namespace espalier::solver
