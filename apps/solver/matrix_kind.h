#pragma once

#include <cstdint>

namespace espalier::solver {

/// How a matrix is factored.
enum class FactorKind : std::int8_t {
  kCholesky,  ///< L L^T: symmetric positive definite
  kLdlt,      ///< L D L^T with 1 x 1 and 2 x 2 pivots: symmetric
  kLu,        ///< L U on a symmetric pattern
};

}  // namespace espalier::solver
