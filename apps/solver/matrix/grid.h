#pragma once

#include <cstdint>
#include <string_view>

#include "solver/matrix/sparse_matrix.h"

namespace espalier::solver {

/// Points along each axis of a regular grid; 1 where an axis is absent.
struct GridShape {
  std::int32_t nx = 1, ny = 1, nz = 1;
};

/// "40x40x40", "1000x1000", "1000x1000x1" or "50": one to three positive numbers.
///
/// @throws InvalidInput for anything else, and for more than 2^31 - 1 points
[[nodiscard]] GridShape parse_grid(std::string_view text);

/// The Laplacian with Dirichlet boundary on the grid: 7 points in three dimensions, 5 in
/// two, 3 in one. -1 for each neighbour, and on the diagonal 2 for each axis longer than
/// one point (1 on a grid of a single point): symmetric positive definite.
///
/// Point (x, y, z) is row x + nx (y + ny z).
///
/// @throws InvalidInput for a size below 1 and for more than 2^31 - 1 points
[[nodiscard]] SymmetricMatrix make_grid(const GridShape& shape);

}  // namespace espalier::solver
