#include <array>
#include <cmath>

#include "training/adjoint/shallow_water.h"
#include "training/adjoint/shallow_water_lines.h"

// Every adjoint is gathered, never scattered: an entry is a sum in one fixed order of
// what the quantities that it went into hand back, so that bands of rows can be computed
// on their own. Quantities that end in _bar are derivatives of the misfit with respect to
// the quantity of that name.

namespace espalier::training {
namespace {

// Adjoints of c s a / h with c = c1 + c2, h = h1 + h2, s = sqrt(a² + b² + e²), the
// friction of one face: with respect to a, to the transverse b and to each of the h and
// c.
struct FrictionLine {
  double *a, *b, *h, *c;
  explicit FrictionLine(LineStore& store) {
    for (double** const line : {&a, &b, &h, &c}) *line = store.next();
  }
  void put(std::int32_t i, double rate_bar, double drag, double depth, double along,
           double across, double e2) const {
    const double s = std::sqrt(along * along + across * across + e2);
    const double force_bar = -rate_bar / depth;
    const double slope = force_bar * drag / s;
    a[i] = slope * (s * s + along * along);
    b[i] = slope * along * across;
    c[i] = force_bar * s * along;
    h[i] = -c[i] * drag / depth;
  }
  void close(std::int32_t nx) const {
    for (double* const line : {a, b, h, c}) close_line(line, nx);
  }
};

// Row j: the state, the adjoint of its rates, and all that rows j - 1 and j tell; then,
// of the faces and corners north of it, what row j + 1 tells as well.
struct AdjointLine {
  StateLine y, bar;
  double* drag;
  double *flux, *bernoulli_bar;
  FrictionLine east;
  NorthLine north;
  double *north_flux_bar, *corner_bar;  // the latter: q_bar / h
  FrictionLine north_friction;

  explicit AdjointLine(LineStore& store)
      : y(store.state()),
        bar(store.state()),
        drag(store.next()),
        flux(store.next()),
        bernoulli_bar(store.next()),
        east(store),
        north{store.next(), store.next(), store.next()},
        north_flux_bar(store.next()),
        corner_bar(store.next()),
        north_friction(store) {}
};

void enter_row(const Basin& basin, const AdjointLine& south, const AdjointLine& row) {
  const double rdx = 1 / basin.dx, rdy = 1 / basin.dy;
  const double e2 = basin.least_speed * basin.least_speed;
  const double *const u_bar = row.bar.u, *const v_bar = row.bar.v;
  const StateLine& y = row.y;
  east_flux(basin, y, row.flux);
  for (std::int32_t i = 0; i < basin.nx; ++i)
    row.bernoulli_bar[i] =
        (u_bar[i] - u_bar[i - 1]) * rdx + (v_bar[i] - south.bar.v[i]) * rdy;
  for (std::int32_t i = 0; i < basin.nx; ++i) {
    const double across = 0.25 * (y.v[i] + y.v[i + 1] + south.y.v[i] + south.y.v[i + 1]);
    row.east.put(i, u_bar[i], row.drag[i] + row.drag[i + 1], y.h[i] + y.h[i + 1], y.u[i],
                 across, e2);
  }
  close_line(row.bernoulli_bar, basin.nx);
  row.east.close(basin.nx);
}

void enter_north(const Basin& basin, const AdjointLine& row, const AdjointLine& north) {
  const double rdy = 1 / basin.dy;
  const double e2 = basin.least_speed * basin.least_speed;
  north_faces(basin, row.y, north.y, row.north);
  const NorthLine& face = row.north;
  for (std::int32_t i = 0; i < basin.nx; ++i) {
    const double u_bars = row.bar.u[i] + north.bar.u[i];
    const double u_bars_west = row.bar.u[i - 1] + north.bar.u[i - 1];
    row.north_flux_bar[i] = (north.bar.h[i] - row.bar.h[i]) * rdy +
                            0.25 * (face.q[i] * u_bars + face.q[i - 1] * u_bars_west);
    const double q_bar =
        (face.flux[i] + face.flux[i + 1]) * u_bars -
        (row.flux[i] + north.flux[i]) * (row.bar.v[i] + row.bar.v[i + 1]);
    row.corner_bar[i] = 0.25 * q_bar * face.inverse[i];
  }
  for (std::int32_t i = 0; i < basin.nx; ++i) {
    const double across =
        0.25 * (row.y.u[i] + row.y.u[i - 1] + north.y.u[i] + north.y.u[i - 1]);
    row.north_friction.put(i, row.bar.v[i], row.drag[i] + north.drag[i],
                           row.y.h[i] + north.y.h[i], row.y.v[i], across, e2);
  }
  close_line(row.north_flux_bar, basin.nx);
  close_line(row.corner_bar, basin.nx);
  row.north_friction.close(basin.nx);
}

// L_y^T bar and L_c^T bar of a row.
struct Gathered {
  double *h, *u, *v, *c;
};

void gather_depth(const Basin& basin, const AdjointLine& south, const AdjointLine& row,
                  const double* flux_bar, const Gathered& sum) {
  const StateLine& y = row.y;
  for (std::int32_t i = 0; i < basin.nx; ++i) {
    const double fluxes = flux_bar[i] * y.u[i] + flux_bar[i - 1] * y.u[i - 1] +
                          row.north_flux_bar[i] * y.v[i] +
                          south.north_flux_bar[i] * south.y.v[i];
    const double corners = row.corner_bar[i] * row.north.q[i] +
                           row.corner_bar[i - 1] * row.north.q[i - 1] +
                           south.corner_bar[i] * south.north.q[i] +
                           south.corner_bar[i - 1] * south.north.q[i - 1];
    const double friction = row.east.h[i] + row.east.h[i - 1] + row.north_friction.h[i] +
                            south.north_friction.h[i];
    sum.h[i] =
        0.5 * fluxes - 0.25 * corners + basin.gravity * row.bernoulli_bar[i] + friction;
    sum.c[i] = row.east.c[i] + row.east.c[i - 1] + row.north_friction.c[i] +
               south.north_friction.c[i];
  }
}

void gather_velocity(const Basin& basin, const AdjointLine& south, const AdjointLine& row,
                     const AdjointLine& north, const double* flux_bar,
                     const Gathered& sum) {
  const double rdx = 1 / basin.dx, rdy = 1 / basin.dy;
  const StateLine& y = row.y;
  const double *const along = row.north_friction.b, *const below = south.north_friction.b;
  for (std::int32_t i = 0; i < basin.nx; ++i) {
    sum.u[i] = 0.5 * (y.h[i] + y.h[i + 1]) * flux_bar[i] +
               (row.corner_bar[i] - south.corner_bar[i]) * rdy +
               0.5 * y.u[i] * (row.bernoulli_bar[i] + row.bernoulli_bar[i + 1]) +
               row.east.a[i] + 0.25 * (along[i] + along[i + 1] + below[i] + below[i + 1]);
    const double across =
        row.east.b[i] + row.east.b[i - 1] + north.east.b[i] + north.east.b[i - 1];
    sum.v[i] = 0.5 * (y.h[i] + north.y.h[i]) * row.north_flux_bar[i] +
               (row.corner_bar[i - 1] - row.corner_bar[i]) * rdx +
               0.5 * y.v[i] * (row.bernoulli_bar[i] + north.bernoulli_bar[i]) +
               row.north_friction.a[i] + 0.25 * across;
  }
}

// The adjoint of the mass flux through the east faces.
void gather_flux(const Basin& basin, const AdjointLine& south, const AdjointLine& row,
                 double* flux_bar) {
  const double rdx = 1 / basin.dx;
  const double *const v_bar = row.bar.v, *const v_below = south.bar.v;
  for (std::int32_t i = 0; i < basin.nx; ++i)
    flux_bar[i] = (row.bar.h[i + 1] - row.bar.h[i]) * rdx -
                  0.25 * (row.north.q[i] * (v_bar[i] + v_bar[i + 1]) +
                          south.north.q[i] * (v_below[i] + v_below[i + 1]));
  close_line(flux_bar, basin.nx);
}

void write_row(const Basin& basin, const Gathered& sum, double step,
               std::span<const double* const> add, double* field, double* drag_bar,
               std::int32_t r) {
  const std::int32_t nx = basin.nx;
  double* const out = row_of(basin, field, r);
  const std::array rates = {sum.h, sum.u, sum.v};
  for (std::int32_t part = 0; part < 3; ++part)
    for (std::int32_t i = 0; i < nx; ++i) rates[std::size_t(part)][i] *= step;
  for (const double* const each : add) {
    const double* const from = row_of(basin, each, r);
    for (std::int32_t part = 0; part < 3; ++part)
      for (std::int32_t i = 0; i < nx; ++i)
        rates[std::size_t(part)][i] += from[part * nx + i];
  }
  for (std::int32_t part = 0; part < 3; ++part)
    std::copy_n(rates[std::size_t(part)], nx, out + part * nx);
  out[2 * nx - 1] = 0;
  if (r == basin.ny - 1) std::fill_n(out + 2 * nx, nx, 0.0);
  double* const c = drag_bar + static_cast<std::size_t>(r) * std::size_t(nx);
  for (std::int32_t i = 0; i < nx; ++i) c[i] += step * sum.c[i];
}

}  // namespace

void shallow_water_stage_adjoint(const Basin& basin, const double* drag, const double* y,
                                 const double* bar, double alpha,
                                 std::span<const double* const> add, double* out,
                                 double* drag_bar, RowBand band, Lines& lines) {
  LineStore store(lines);
  const std::array<AdjointLine, 3> ring = {AdjointLine(store), AdjointLine(store),
                                           AdjointLine(store)};
  double* const flux_bar = store.next();
  const Gathered sum = {store.next(), store.next(), store.next(), store.next()};
  const auto at = [&](std::int32_t row) -> const AdjointLine& {
    return ring[static_cast<std::size_t>(row + 1) % ring.size()];
  };
  const auto load = [&](std::int32_t row) {
    at(row).y.load(basin, y, row);
    at(row).bar.load(basin, bar, row);
    load_cells(basin, drag, row, at(row).drag);
  };
  load(band.begin - 1);
  east_flux(basin, at(band.begin - 1).y, at(band.begin - 1).flux);
  for (std::int32_t r = band.begin - 1; r < band.end; ++r) {
    load(r + 1);
    enter_row(basin, at(r), at(r + 1));
    enter_north(basin, at(r), at(r + 1));
    if (r < band.begin) continue;
    gather_flux(basin, at(r - 1), at(r), flux_bar);
    gather_depth(basin, at(r - 1), at(r), flux_bar, sum);
    gather_velocity(basin, at(r - 1), at(r), at(r + 1), flux_bar, sum);
    write_row(basin, sum, alpha * basin.dt, add, out, drag_bar, r);
  }
}

}  // namespace espalier::training
