#pragma once

#include <variant>

#include "solver/matrix/complex_matrix.h"
#include "solver/matrix/general_matrix.h"

namespace espalier::solver {

/// What a file may hold.
using AnyMatrix = std::variant<InputMatrix, ComplexMatrix>;

}  // namespace espalier::solver
