#include "solver/matrix/grid.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>

#include "espalier/model/error.h"

namespace espalier::solver {
namespace {

std::int32_t checked_points(const GridShape& shape) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  std::int64_t points = 1;
  for (std::int64_t length : {shape.nx, shape.ny, shape.nz}) {
    if (length < 1) {
      throw InvalidInput(fmt::format("grid {}x{}x{}: every size must be positive",
                                     shape.nx, shape.ny, shape.nz));
    }
    points *= length;  // both factors are below 2^31
    if (points > kMost) {
      throw InvalidInput(fmt::format("grid {}x{}x{}: more than {} points", shape.nx,
                                     shape.ny, shape.nz, kMost));
    }
  }
  return static_cast<std::int32_t>(points);
}

}  // namespace

GridShape parse_grid(std::string_view text) {
  std::array<std::int32_t, 3> size = {1, 1, 1};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t axis = 0;; ++axis) {
    const auto [next, error] =
        axis < 3 ? std::from_chars(at, end, size[axis])
                 : std::from_chars_result{at, std::errc::invalid_argument};
    if (error != std::errc() || (next != end && *next != 'x')) {
      throw InvalidInput(
          fmt::format("grid '{}': expected sizes such as 40x40x40 or 1000x1000", text));
    }
    if (next == end) break;
    at = next + 1;
  }
  const GridShape shape{size[0], size[1], size[2]};
  checked_points(shape);
  return shape;
}

SymmetricMatrix make_grid(const GridShape& shape) {
  SymmetricMatrix a;
  a.size = checked_points(shape);
  const auto [nx, ny, nz] = shape;
  const int axes = (nx > 1) + (ny > 1) + (nz > 1);
  const double diagonal = axes == 0 ? 1 : 2 * axes;
  const std::int64_t plane = std::int64_t{nx} * ny;
  const std::int64_t edges = std::int64_t{nx - 1} * ny * nz +
                             std::int64_t{nx} * (ny - 1) * nz + plane * (nz - 1);
  a.column_start.reserve(static_cast<std::size_t>(a.size) + 1);
  a.row.reserve(a.size + edges);
  a.value.reserve(a.size + edges);
  const auto append = [&a](std::int64_t row, double value) {
    a.row.push_back(static_cast<std::int32_t>(row));
    a.value.push_back(value);
  };
  for (std::int64_t point = 0; point < a.size; ++point) {
    a.column_start.push_back(std::ssize(a.row));
    append(point, diagonal);
    if (point % nx + 1 < nx) append(point + 1, -1);
    if (point % plane / nx + 1 < ny) append(point + nx, -1);
    if (point / plane + 1 < nz) append(point + plane, -1);
  }
  a.column_start.push_back(std::ssize(a.row));
  return a;
}

}  // namespace espalier::solver
