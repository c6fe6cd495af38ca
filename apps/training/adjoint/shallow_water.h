#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace espalier::training {

/// The shallow-water equations on an f-plane in a closed basin, in vector-invariant form,
///
///   h_t = -div(h u),
///   u_t = +q h v - d/dx (g (h + b) + K) - c |u| u / h,
///   v_t = -q h u - d/dy (g (h + b) + K) - c |u| v / h,
///   q = (f + v_x - u_y) / h,  K = (u² + v²) / 2,
///
/// with the depth h in m, the velocity (u, v) in m/s, the elevation of the bed b in m and
/// the drag coefficient c of quadratic bottom friction; |u| = sqrt(u² + v² + e²) with a
/// small e, so that it is differentiable at rest. Centred differences of second order on
/// Arakawa's C-grid, conserving mass and, without friction, energy [Sad75]; three-stage
/// Runge-Kutta in time, of second order [WS02]:
///
///   y1 = x + dt/3 L(x),  y2 = x + dt/2 L(y1),  x' = x + dt L(y2).
///
/// Cell (i, j) of nx × ny has h in its middle, u on its east and v on its north face.
/// Through the walls nothing flows: u of the last column and v of the last row are 0.
///
/// Memory layout of a state and of anything like one: row after row from the south, of
/// each row first h, then u, then v, so that a band of rows is contiguous.
struct Basin {
  std::int32_t nx = 0, ny = 0;
  double dx = 0, dy = 0;  ///< m
  double dt = 0;          ///< s
  double gravity = 9.81, coriolis = 1e-4, least_speed = 1e-3;
  std::vector<double> bed = {};  ///< row after row, nx * ny

  [[nodiscard]] std::size_t row_size() const { return 3 * static_cast<std::size_t>(nx); }
  [[nodiscard]] std::size_t state_size() const {
    return row_size() * static_cast<std::size_t>(ny);
  }
  [[nodiscard]] std::size_t cells() const {
    return static_cast<std::size_t>(nx) * static_cast<std::size_t>(ny);
  }
};

/// Rows [begin, end) of a field: what a task works on.
struct RowBand {
  std::int32_t begin, end;
};

/// Lines of working memory for one kernel at a time.
class Lines {
 public:
  explicit Lines(std::int32_t nx);
  /// Line k of kCount; columns -1 … nx may be used.
  [[nodiscard]] double* operator[](std::size_t k) {
    return memory_.data() + k * stride_ + 8;
  }
  static constexpr std::size_t kCount = 72;
  [[nodiscard]] static std::size_t bytes(std::int32_t nx);

 private:
  std::size_t stride_;
  std::vector<double> memory_;
};

// The kernels write the rows of a band and read of their fields one row more on either
// side, round the basin's edge; `add` fields are read in the band only. Results do not
// depend on how rows are divided into bands: not in a single bit.

/// out := x + alpha dt L(y). out may be x, but not y.
void shallow_water_stage(const Basin& basin, const double* drag, const double* x,
                         const double* y, double alpha, double* out, RowBand band,
                         Lines& lines);

/// The tangent of it: out := dx + alpha dt (L_y dy + L_c ddrag). out may be dx.
void shallow_water_stage_tangent(const Basin& basin, const double* drag,
                                 const double* ddrag, const double* dx, const double* y,
                                 const double* dy, double alpha, double* out,
                                 RowBand band, Lines& lines);

/// The adjoint of it: out := add_1 + … + alpha dt L_y^T bar, and
/// drag_bar += alpha dt L_c^T bar. `bar` is zero where the walls are, and so is `out`,
/// which may be one of `add`, but not y or bar.
void shallow_water_stage_adjoint(const Basin& basin, const double* drag, const double* y,
                                 const double* bar, double alpha,
                                 std::span<const double* const> add, double* out,
                                 double* drag_bar, RowBand band, Lines& lines);

/// Squared distance to the observed surface, row by row: the misfit is their sum,
/// J = dx dy / 2 sum (h + b - observed)².
void shallow_water_misfit(const Basin& basin, const double* observed, const double* x,
                          double* apply_to_ones, RowBand band);
/// bar := its derivative.
void shallow_water_misfit_adjoint(const Basin& basin, const double* observed,
                                  const double* x, double* bar, RowBand band);

/// A test case: waves from a hump of water over a bed with a ridge.
struct ShallowWaterCase {
  Basin basin;
  std::vector<double> initial;   ///< state
  std::vector<double> drag;      ///< nx * ny
  std::vector<double> observed;  ///< surface elevation after the last step, nx * ny
};
[[nodiscard]] ShallowWaterCase shallow_water_case(std::int32_t nx, std::int32_t ny);

}  // namespace espalier::training
