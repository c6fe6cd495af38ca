#pragma once

#include <string>
#include <variant>

#include "solver/matrix/complex_matrix.h"
#include "solver/matrix/general_matrix.h"

namespace espalier::solver {

/// What a file may hold.
using AnyMatrix = std::variant<InputMatrix, ComplexMatrix>;

/// What was read of a file, values of one entry added.
/// @throws FileError naming the entry, from 1 on, whose sum is not finite
[[nodiscard]] AnyMatrix with_finite_sums(AnyMatrix&& matrix, const std::string& path);

}  // namespace espalier::solver
