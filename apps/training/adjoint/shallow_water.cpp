#include "training/adjoint/shallow_water.h"

#include <array>
#include <cmath>

#include "training/adjoint/shallow_water_lines.h"

namespace espalier::training {
namespace {

constexpr std::size_t kPadding = 16;  // two ghost columns and whole cache lines

std::size_t stride_of(std::int32_t nx) {
  return (static_cast<std::size_t>(nx) + kPadding + 7) / 8 * 8;
}

// The rate of change of a row of which everything is known.
struct Row {
  const StateLine &south, &here, &north;
  const double *drag, *drag_north;
  const double *flux, *flux_north, *bernoulli, *bernoulli_north;
  const NorthLine &below, &above;
};

void advance_row(const Basin& basin, const Row& row, const double* x, double step,
                 double* out, bool wall) {
  const auto& [south, here, north, drag, drag_north, flux, flux_north, b, b_north, below,
               above] = row;
  const std::int32_t nx = basin.nx;
  const double rdx = 1 / basin.dx, rdy = 1 / basin.dy;
  const double e2 = basin.least_speed * basin.least_speed;
#pragma GCC ivdep  // out may be x, entry by entry
  for (std::int32_t i = 0; i < nx; ++i) {
    const double rate =
        -(flux[i] - flux[i - 1]) * rdx - (above.flux[i] - below.flux[i]) * rdy;
    out[i] = x[i] + step * rate;
  }
#pragma GCC ivdep  // out may be x, entry by entry
  for (std::int32_t i = 0; i < nx; ++i) {
    const double v = 0.25 * (here.v[i] + here.v[i + 1] + south.v[i] + south.v[i + 1]);
    const double speed = std::sqrt(here.u[i] * here.u[i] + v * v + e2);
    const double friction =
        (drag[i] + drag[i + 1]) * speed * here.u[i] / (here.h[i] + here.h[i + 1]);
    const double rate = 0.25 * (above.q[i] * (above.flux[i] + above.flux[i + 1]) +
                                below.q[i] * (below.flux[i] + below.flux[i + 1])) -
                        (b[i + 1] - b[i]) * rdx - friction;
    out[nx + i] = x[nx + i] + step * rate;
  }
  out[2 * nx - 1] = 0;
  if (wall) {
    std::fill_n(out + 2 * nx, nx, 0.0);
    return;
  }
#pragma GCC ivdep  // out may be x, entry by entry
  for (std::int32_t i = 0; i < nx; ++i) {
    const double u = 0.25 * (here.u[i] + here.u[i - 1] + north.u[i] + north.u[i - 1]);
    const double speed = std::sqrt(here.v[i] * here.v[i] + u * u + e2);
    const double friction =
        (drag[i] + drag_north[i]) * speed * here.v[i] / (here.h[i] + north.h[i]);
    const double rate = -0.25 * (above.q[i] * (flux[i] + flux_north[i]) +
                                 above.q[i - 1] * (flux[i - 1] + flux_north[i - 1])) -
                        (b_north[i] - b[i]) * rdy - friction;
    out[2 * nx + i] = x[2 * nx + i] + step * rate;
  }
}

}  // namespace

Lines::Lines(std::int32_t nx) : stride_(stride_of(nx)), memory_(kCount * stride_) {}

std::size_t Lines::bytes(std::int32_t nx) {
  return kCount * stride_of(nx) * sizeof(double);
}

void east_flux(const Basin& basin, const StateLine& row, double* flux) {
  for (std::int32_t i = 0; i < basin.nx; ++i)
    flux[i] = 0.5 * (row.h[i] + row.h[i + 1]) * row.u[i];
  close_line(flux, basin.nx);
}

void bernoulli(const Basin& basin, const StateLine& south, const StateLine& row,
               const double* bed, double* result) {
  for (std::int32_t i = 0; i < basin.nx; ++i) {
    const double kinetic = row.u[i] * row.u[i] + row.u[i - 1] * row.u[i - 1] +
                           row.v[i] * row.v[i] + south.v[i] * south.v[i];
    result[i] = basin.gravity * (row.h[i] + bed[i]) + 0.25 * kinetic;
  }
  close_line(result, basin.nx);
}

void north_faces(const Basin& basin, const StateLine& row, const StateLine& north,
                 const NorthLine& result) {
  const double rdx = 1 / basin.dx, rdy = 1 / basin.dy;
  for (std::int32_t i = 0; i < basin.nx; ++i) {
    result.flux[i] = 0.5 * (row.h[i] + north.h[i]) * row.v[i];
    const double depth = row.h[i] + row.h[i + 1] + north.h[i] + north.h[i + 1];
    const double vorticity =
        (row.v[i + 1] - row.v[i]) * rdx - (north.u[i] - row.u[i]) * rdy;
    result.inverse[i] = 4 / depth;
    result.q[i] = (basin.coriolis + vorticity) * result.inverse[i];
  }
  for (double* const line : {result.flux, result.q, result.inverse})
    close_line(line, basin.nx);
}

void shallow_water_stage(const Basin& basin, const double* drag, const double* x,
                         const double* y, double alpha, double* out, RowBand band,
                         Lines& lines) {
  LineStore store(lines);
  const std::array state = {store.state(), store.state(), store.state()};
  const std::array flux = {store.next(), store.next()};
  const std::array energy = {store.next(), store.next()};
  const std::array drags = {store.next(), store.next()};
  const auto north_line = [&] {
    double *const v = store.next(), *const q = store.next();
    return NorthLine{v, q, store.next()};
  };
  const std::array faces = {north_line(), north_line()};
  const auto at = [](const auto& ring, std::int32_t row) -> decltype(auto) {
    return ring[static_cast<std::size_t>(row + 1) % ring.size()];
  };
  // Row r + 1 comes in, then row r has all it needs.
  at(state, band.begin - 1).load(basin, y, band.begin - 1);
  for (std::int32_t r = band.begin - 1; r < band.end; ++r) {
    const StateLine &here = at(state, r), &north = at(state, r + 1);
    north.load(basin, y, r + 1);
    load_cells(basin, drag, r + 1, at(drags, r + 1));
    east_flux(basin, north, at(flux, r + 1));
    bernoulli(basin, here, north,
              basin.bed.data() + static_cast<std::size_t>(round_row(basin, r + 1)) *
                                     static_cast<std::size_t>(basin.nx),
              at(energy, r + 1));
    north_faces(basin, here, north, at(faces, r));
    if (r < band.begin) continue;
    advance_row(basin,
                {at(state, r - 1), here, north, at(drags, r), at(drags, r + 1),
                 at(flux, r), at(flux, r + 1), at(energy, r), at(energy, r + 1),
                 at(faces, r - 1), at(faces, r)},
                row_of(basin, x, r), alpha * basin.dt, row_of(basin, out, r),
                r == basin.ny - 1);
  }
}

void shallow_water_misfit(const Basin& basin, const double* observed, const double* x,
                          double* apply_to_ones, RowBand band) {
  for (std::int32_t j = band.begin; j < band.end; ++j) {
    const double* const h = row_of(basin, x, j);
    const std::size_t first = static_cast<std::size_t>(j) * std::size_t(basin.nx);
    double sum = 0;
    for (std::int32_t i = 0; i < basin.nx; ++i) {
      const double distance = h[i] + basin.bed[first + i] - observed[first + i];
      sum += distance * distance;
    }
    apply_to_ones[j] = 0.5 * basin.dx * basin.dy * sum;
  }
}

void shallow_water_misfit_adjoint(const Basin& basin, const double* observed,
                                  const double* x, double* bar, RowBand band) {
  for (std::int32_t j = band.begin; j < band.end; ++j) {
    const double* const h = row_of(basin, x, j);
    double* const to = row_of(basin, bar, j);
    const std::size_t first = static_cast<std::size_t>(j) * std::size_t(basin.nx);
    for (std::int32_t i = 0; i < basin.nx; ++i)
      to[i] = basin.dx * basin.dy * (h[i] + basin.bed[first + i] - observed[first + i]);
    std::fill_n(to + basin.nx, 2 * basin.nx, 0.0);
  }
}

ShallowWaterCase shallow_water_case(std::int32_t nx, std::int32_t ny) {
  constexpr double kSide = 1e6, kDepth = 120, kCourant = 0.6;
  ShallowWaterCase test;
  Basin& basin = test.basin;
  basin.nx = nx;
  basin.ny = ny;
  basin.dx = kSide / nx;
  basin.dy = kSide / ny;
  const double speed = std::sqrt(basin.gravity * kDepth);
  basin.dt = kCourant / (speed * std::hypot(1 / basin.dx, 1 / basin.dy));
  basin.bed.resize(basin.cells());
  test.initial.assign(basin.state_size(), 0.0);
  test.drag.assign(basin.cells(), 0.0);
  test.observed.assign(basin.cells(), 0.0);
  for (std::int32_t j = 0; j < ny; ++j)
    for (std::int32_t i = 0; i < nx; ++i) {
      const double x = (i + 0.5) / nx, y = (j + 0.5) / ny;
      const std::size_t cell = static_cast<std::size_t>(j) * std::size_t(nx) + i;
      const auto hump = [&](double cx, double cy, double width) {
        return std::exp(-((x - cx) * (x - cx) + (y - cy) * (y - cy)) / (width * width));
      };
      basin.bed[cell] =
          -100 + 40 * std::exp(-(x - 0.6) * (x - 0.6) / 0.02) - 15 * std::cos(6 * y);
      test.initial[static_cast<std::size_t>(j) * basin.row_size() + i] =
          hump(0.3, 0.4, 0.12) - basin.bed[cell];
      test.drag[cell] = 2.5e-3 * (1 + 0.5 * std::sin(5 * x + 3 * y));
      test.observed[cell] = 0.3 * hump(0.7, 0.6, 0.2);
    }
  return test;
}

}  // namespace espalier::training
