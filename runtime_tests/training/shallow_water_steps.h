#pragma once

// Whole steps of the shallow-water model in one thread, of the kernels' stages.

#include <algorithm>
#include <random>
#include <vector>

#include "training/adjoint/shallow_water.h"

namespace espalier::training {

using Field = std::vector<double>;

/// Bands of at most `rows` rows.
inline std::vector<RowBand> bands_of(const Basin& basin, std::int32_t rows) {
  std::vector<RowBand> bands;
  for (std::int32_t j = 0; j < basin.ny; j += rows)
    bands.push_back({j, std::min(basin.ny, j + rows)});
  return bands;
}

inline Field stage(const Basin& basin, const Field& drag, const Field& x, const Field& y,
                   double alpha, std::int32_t rows) {
  Lines lines(basin.nx);
  Field out(basin.state_size());
  for (const RowBand band : bands_of(basin, rows))
    shallow_water_stage(basin, drag.data(), x.data(), y.data(), alpha, out.data(), band,
                        lines);
  return out;
}

inline Field step(const Basin& basin, const Field& drag, const Field& x,
                  std::int32_t rows = 1 << 30) {
  const Field y1 = stage(basin, drag, x, x, 1. / 3, rows);
  const Field y2 = stage(basin, drag, x, y1, 0.5, rows);
  return stage(basin, drag, x, y2, 1, rows);
}

inline Field step_tangent(const Basin& basin, const Field& drag, const Field& ddrag,
                          const Field& x, const Field& dx) {
  Lines lines(basin.nx);
  const auto tangent = [&](const Field& y, const Field& dy, double alpha) {
    Field out(basin.state_size());
    shallow_water_stage_tangent(basin, drag.data(), ddrag.data(), dx.data(), y.data(),
                                dy.data(), alpha, out.data(), {0, basin.ny}, lines);
    return out;
  };
  const Field y1 = stage(basin, drag, x, x, 1. / 3, basin.ny);
  const Field y2 = stage(basin, drag, x, y1, 0.5, basin.ny);
  const Field dy1 = tangent(x, dx, 1. / 3);
  const Field dy2 = tangent(y1, dy1, 0.5);
  return tangent(y2, dy2, 1);
}

/// @return bar of x; that of drag is added to drag_bar
inline Field step_adjoint(const Basin& basin, const Field& drag, const Field& x,
                          const Field& bar, Field& drag_bar,
                          std::int32_t rows = 1 << 30) {
  Lines lines(basin.nx);
  const auto adjoint = [&](const Field& y, const Field& from, double alpha,
                           const std::vector<const double*>& add) {
    Field out(basin.state_size());
    for (const RowBand band : bands_of(basin, rows))
      shallow_water_stage_adjoint(basin, drag.data(), y.data(), from.data(), alpha, add,
                                  out.data(), drag_bar.data(), band, lines);
    return out;
  };
  const Field y1 = stage(basin, drag, x, x, 1. / 3, rows);
  const Field y2 = stage(basin, drag, x, y1, 0.5, rows);
  const Field m2 = adjoint(y2, bar, 1, {});
  const Field m1 = adjoint(y1, m2, 0.5, {});
  return adjoint(x, m1, 1. / 3, {bar.data(), m2.data(), m1.data()});
}

inline double misfit(const ShallowWaterCase& test, const Field& x) {
  Field sums(static_cast<std::size_t>(test.basin.ny));
  shallow_water_misfit(test.basin, test.observed.data(), x.data(), sums.data(),
                       {0, test.basin.ny});
  double sum = 0;
  for (const double each : sums) sum += each;
  return sum;
}

/// The gradient with every state stored.
struct Gradient {
  double misfit = 0;
  Field initial, drag;
};
inline Gradient store_all_gradient(const ShallowWaterCase& test, std::int64_t steps,
                                   std::int32_t rows = 1 << 30) {
  std::vector<Field> states = {test.initial};
  for (std::int64_t i = 0; i < steps; ++i)
    states.push_back(step(test.basin, test.drag, states.back(), rows));
  Gradient gradient{misfit(test, states.back()), Field(test.basin.state_size()),
                    Field(test.basin.cells())};
  shallow_water_misfit_adjoint(test.basin, test.observed.data(), states.back().data(),
                               gradient.initial.data(), {0, test.basin.ny});
  for (std::int64_t i = steps - 1; i >= 0; --i)
    gradient.initial = step_adjoint(test.basin, test.drag, states[std::size_t(i)],
                                    gradient.initial, gradient.drag, rows);
  return gradient;
}

/// Numbers in [-size, size] that are 0 where the walls are.
inline Field random_state(const Basin& basin, double size, std::mt19937_64& engine) {
  std::uniform_real_distribution<double> number(-size, size);
  Field field(basin.state_size());
  for (double& each : field) each = number(engine);
  const auto nx = std::size_t(basin.nx), ny = std::size_t(basin.ny);
  for (std::size_t j = 0; j < ny; ++j) field[j * 3 * nx + 2 * nx - 1] = 0;
  std::fill_n(field.end() - std::ptrdiff_t(nx), nx, 0.0);
  return field;
}

}  // namespace espalier::training
