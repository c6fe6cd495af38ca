#include <array>
#include <cmath>

#include "training/adjoint/shallow_water.h"
#include "training/adjoint/shallow_water_lines.h"

namespace espalier::training {
namespace {

// A row of the state, what the model computes of it, and the tangents of both. The north
// faces of row j are known when row j + 1 is.
struct TangentLine {
  StateLine y, dy;
  double *drag, *ddrag;
  double *flux, *dflux, *dbernoulli;
  NorthLine north;
  double *dnorth_flux, *dq;

  explicit TangentLine(LineStore& store) : y(store.state()), dy(store.state()) {
    for (double** const line : {&drag, &ddrag, &flux, &dflux, &dbernoulli, &north.flux,
                                &north.q, &north.inverse, &dnorth_flux, &dq})
      *line = store.next();
  }
};

void enter_row(const Basin& basin, const TangentLine& south, const TangentLine& row) {
  const auto& [h, u, v] = row.y;
  const auto& [dh, du, dv] = row.dy;
  east_flux(basin, row.y, row.flux);
  for (std::int32_t i = 0; i < basin.nx; ++i) {
    row.dflux[i] = 0.5 * ((dh[i] + dh[i + 1]) * u[i] + (h[i] + h[i + 1]) * du[i]);
    row.dbernoulli[i] =
        basin.gravity * dh[i] + 0.5 * (u[i] * du[i] + u[i - 1] * du[i - 1] +
                                       v[i] * dv[i] + south.y.v[i] * south.dy.v[i]);
  }
  close_line(row.dflux, basin.nx);
  close_line(row.dbernoulli, basin.nx);
}

void enter_north(const Basin& basin, const TangentLine& row, const TangentLine& north) {
  const double rdx = 1 / basin.dx, rdy = 1 / basin.dy;
  north_faces(basin, row.y, north.y, row.north);
  const auto& [h, u, v] = row.y;
  const auto& [dh, du, dv] = row.dy;
  for (std::int32_t i = 0; i < basin.nx; ++i) {
    row.dnorth_flux[i] =
        0.5 * ((dh[i] + north.dy.h[i]) * v[i] + (h[i] + north.y.h[i]) * dv[i]);
    const double ddepth = 0.25 * (dh[i] + dh[i + 1] + north.dy.h[i] + north.dy.h[i + 1]);
    const double dvorticity = (dv[i + 1] - dv[i]) * rdx - (north.dy.u[i] - du[i]) * rdy;
    row.dq[i] = (dvorticity - row.north.q[i] * ddepth) * row.north.inverse[i];
  }
  close_line(row.dnorth_flux, basin.nx);
  close_line(row.dq, basin.nx);
}

// Derivative of (c1 + c2) s a / (h1 + h2), s = sqrt(a² + b² + e²).
struct FrictionTangent {
  double c, dc, h, dh;  // sums of the two
  double a, da, b, db;
  [[nodiscard]] double value(double e2) const {
    const double s = std::sqrt(a * a + b * b + e2);
    const double ds = (a * da + b * db) / s;
    return (dc * s * a + c * ds * a + c * s * da - c * s * a * dh / h) / h;
  }
};

double u_friction(const TangentLine& south, const TangentLine& row, std::int32_t i,
                  double e2) {
  const auto mean = [i](const double* lower, const double* upper) {
    return 0.25 * (upper[i] + upper[i + 1] + lower[i] + lower[i + 1]);
  };
  return FrictionTangent{row.drag[i] + row.drag[i + 1],
                         row.ddrag[i] + row.ddrag[i + 1],
                         row.y.h[i] + row.y.h[i + 1],
                         row.dy.h[i] + row.dy.h[i + 1],
                         row.y.u[i],
                         row.dy.u[i],
                         mean(south.y.v, row.y.v),
                         mean(south.dy.v, row.dy.v)}
      .value(e2);
}

double v_friction(const TangentLine& row, const TangentLine& north, std::int32_t i,
                  double e2) {
  const auto mean = [i](const double* lower, const double* upper) {
    return 0.25 * (lower[i] + lower[i - 1] + upper[i] + upper[i - 1]);
  };
  return FrictionTangent{row.drag[i] + north.drag[i],
                         row.ddrag[i] + north.ddrag[i],
                         row.y.h[i] + north.y.h[i],
                         row.dy.h[i] + north.dy.h[i],
                         row.y.v[i],
                         row.dy.v[i],
                         mean(row.y.u, north.y.u),
                         mean(row.dy.u, north.dy.u)}
      .value(e2);
}

void advance_row(const Basin& basin, const TangentLine& south, const TangentLine& row,
                 const TangentLine& north, const double* dx, double step, double* out,
                 bool wall) {
  const std::int32_t nx = basin.nx;
  const double rdx = 1 / basin.dx, rdy = 1 / basin.dy;
  const double e2 = basin.least_speed * basin.least_speed;
  const NorthLine &below = south.north, &above = row.north;
  for (std::int32_t i = 0; i < nx; ++i) {
    const double rate = -(row.dflux[i] - row.dflux[i - 1]) * rdx -
                        (row.dnorth_flux[i] - south.dnorth_flux[i]) * rdy;
    out[i] = dx[i] + step * rate;
    const double rotation =
        row.dq[i] * (above.flux[i] + above.flux[i + 1]) +
        above.q[i] * (row.dnorth_flux[i] + row.dnorth_flux[i + 1]) +
        south.dq[i] * (below.flux[i] + below.flux[i + 1]) +
        below.q[i] * (south.dnorth_flux[i] + south.dnorth_flux[i + 1]);
    const double du = 0.25 * rotation -
                      (row.dbernoulli[i + 1] - row.dbernoulli[i]) * rdx -
                      u_friction(south, row, i, e2);
    out[nx + i] = dx[nx + i] + step * du;
  }
  out[2 * nx - 1] = 0;
  for (std::int32_t i = 0; i < nx; ++i) {
    const auto turned = [&](std::int32_t k) {
      return row.dq[k] * (row.flux[k] + north.flux[k]) +
             above.q[k] * (row.dflux[k] + north.dflux[k]);
    };
    const double dv = -0.25 * (turned(i) + turned(i - 1)) -
                      (north.dbernoulli[i] - row.dbernoulli[i]) * rdy -
                      v_friction(row, north, i, e2);
    out[2 * nx + i] = wall ? 0 : dx[2 * nx + i] + step * dv;
  }
}

}  // namespace

void shallow_water_stage_tangent(const Basin& basin, const double* drag,
                                 const double* ddrag, const double* dx, const double* y,
                                 const double* dy, double alpha, double* out,
                                 RowBand band, Lines& lines) {
  LineStore store(lines);
  const std::array<TangentLine, 3> ring = {TangentLine(store), TangentLine(store),
                                           TangentLine(store)};
  const auto at = [&](std::int32_t row) -> const TangentLine& {
    return ring[static_cast<std::size_t>(row + 1) % ring.size()];
  };
  const auto load = [&](std::int32_t row) {
    at(row).y.load(basin, y, row);
    at(row).dy.load(basin, dy, row);
    load_cells(basin, drag, row, at(row).drag);
    load_cells(basin, ddrag, row, at(row).ddrag);
  };
  load(band.begin - 1);
  for (std::int32_t r = band.begin - 1; r < band.end; ++r) {
    load(r + 1);
    enter_row(basin, at(r), at(r + 1));
    enter_north(basin, at(r), at(r + 1));
    if (r >= band.begin)
      advance_row(basin, at(r - 1), at(r), at(r + 1), row_of(basin, dx, r),
                  alpha * basin.dt, row_of(basin, out, r), r == basin.ny - 1);
  }
}

}  // namespace espalier::training
