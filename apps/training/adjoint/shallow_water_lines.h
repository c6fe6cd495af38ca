#pragma once

// Rows of the shallow-water kernels, with a column more on either side.

#include <algorithm>
#include <cstddef>

#include "espalier/model/error.h"
#include "training/adjoint/shallow_water.h"

namespace espalier::training {

/// The basin's edge is closed by faces that nothing passes, so rows and columns may go
/// round it: what comes from the other side is multiplied by 0.
inline void close_line(double* line, std::int32_t nx) {
  line[-1] = line[nx - 1];
  line[nx] = line[0];
}

inline std::int32_t round_row(const Basin& basin, std::int32_t row) {
  return row < 0 ? row + basin.ny : row < basin.ny ? row : row - basin.ny;
}

inline const double* row_of(const Basin& basin, const double* field, std::int32_t row) {
  return field + static_cast<std::size_t>(round_row(basin, row)) * basin.row_size();
}
inline double* row_of(const Basin& basin, double* field, std::int32_t row) {
  return field + static_cast<std::size_t>(row) * basin.row_size();
}

/// A row of a state.
struct StateLine {
  double *h, *u, *v;

  void load(const Basin& basin, const double* field, std::int32_t row) const {
    const std::int32_t nx = basin.nx;
    const double* from = row_of(basin, field, row);
    for (double* const to : {h, u, v}) {
      std::copy_n(from, nx, to);
      close_line(to, nx);
      from += nx;
    }
  }
};

/// A line of a field with one value a cell.
inline void load_cells(const Basin& basin, const double* field, std::int32_t row,
                       double* line) {
  std::copy_n(
      field + static_cast<std::size_t>(round_row(basin, row)) * std::size_t(basin.nx),
      basin.nx, line);
  close_line(line, basin.nx);
}

/// Hands out lines one after the other.
class LineStore {
 public:
  explicit LineStore(Lines& lines) : lines_(lines) {}
  double* next() {
    ESPALIER_ASSERT(used_ < Lines::kCount, "more lines than there are");
    return lines_[used_++];
  }
  StateLine state() {
    double *const h = next(), *const u = next();
    return {h, u, next()};
  }

 private:
  Lines& lines_;
  std::size_t used_ = 0;
};

/// What the model computes of row j, as far as rows j and below are needed: the mass flux
/// U through east faces and Bernoulli's B = g (h + b) + K in the middle.
struct CellLine {
  double *flux, *bernoulli;
};
/// And of the faces and corners north of row j: the mass flux V, q and 1 / h.
struct NorthLine {
  double *flux, *q, *inverse;
};

void east_flux(const Basin& basin, const StateLine& row, double* flux);
void bernoulli(const Basin& basin, const StateLine& south, const StateLine& row,
               const double* bed, double* result);
void north_faces(const Basin& basin, const StateLine& row, const StateLine& north,
                 const NorthLine& result);

}  // namespace espalier::training
