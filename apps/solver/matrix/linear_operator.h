#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "espalier/solver/matrix.h"

namespace espalier::solver {

/// Applies an operator in place to a block of `nrhs` vectors, one after the other: for
/// most users about op(A)^-1, by its factors.
using BlockOperator = std::function<void(std::span<double> block, std::int32_t nrhs)>;

}  // namespace espalier::solver
