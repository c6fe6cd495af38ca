#include "training/adjoint/ice_sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "espalier/model/error.h"
#include "espalier/sequential/tree/liu_traversal.h"
#include "solver/matrix/permute.h"
#include "solver/runtime/factorise.h"
#include "solver/solve/triangular_solve.h"

namespace espalier::training {
namespace {

constexpr double kPi = 3.14159265358979323846;

// The pattern of the lower triangle: a cell, its eastern and its northern neighbour.
solver::SymmetricMatrix pattern(std::int32_t nx, std::int32_t ny) {
  solver::SymmetricMatrix matrix;
  matrix.size = nx * ny;
  matrix.column_start = {0};
  for (std::int32_t j = 0; j < ny; ++j)
    for (std::int32_t i = 0; i < nx; ++i) {
      const std::int32_t p = j * nx + i;
      matrix.row.push_back(p);
      if (i + 1 < nx) matrix.row.push_back(p + 1);
      if (j + 1 < ny) matrix.row.push_back(p + nx);
      matrix.column_start.push_back(std::ssize(matrix.row));
    }
  matrix.value.resize(matrix.row.size());
  return matrix;
}

}  // namespace

double IceSheetCase::season(std::int64_t step) {
  // A cold spell now and then: the viscosity iteration takes longer.
  return 1 + 0.3 * std::sin(0.21 * static_cast<double>(step)) +
         (step % 17 < 3 ? 20.0 : 0.0);
}

IceSheetCase ice_sheet_case(std::int32_t nx, std::int32_t ny) {
  IceSheetCase test{.nx = nx,
                    .ny = ny,
                    .spacing = 1.2e6 / std::max(nx, ny),
                    .dt = 10,
                    .bed = {},
                    .initial = {},
                    .balance = {},
                    .observed = {},
                    .rate = {}};
  for (std::int32_t j = 0; j < ny; ++j)
    for (std::int32_t i = 0; i < nx; ++i) {
      const double x = (i + 0.5) / nx, y = (j + 0.5) / ny;
      const double r2 = (x - 0.5) * (x - 0.5) + (y - 0.45) * (y - 0.45);
      test.bed.push_back(200 * std::sin(2 * kPi * x) * std::cos(3 * y));
      test.initial.push_back(700 + 1800 * std::exp(-r2 / 0.08));
      test.balance.push_back(0.4 * std::exp(-r2 / 0.1));
      test.observed.push_back(900 + 1500 * std::exp(-r2 / 0.1));
    }
  for (std::int32_t j = 0; j + 1 < ny; ++j)
    for (std::int32_t i = 0; i + 1 < nx; ++i)
      test.rate.push_back(9e-7 *
                          (1 + 0.3 * std::cos(5. * i / nx) * std::sin(4. * j / ny)));
  return test;
}

IceSheet::IceSheet(const IceSheetCase& test, std::int32_t most_turns)
    : test_(test),
      matrix_(pattern(test.nx, test.ny)),
      symbolic_(solver::analyse_pattern(matrix_)),
      tree_(solver::build_assembly_tree(symbolic_, {})),
      corner_(test.corners()),
      corner_bar_(test.corners()),
      turns_(static_cast<std::size_t>(most_turns), Values(test.cells())),
      old_bar_(test.cells()),
      solution_(test.cells()) {
  Traversal traversal = liu_traversal(tree_.tasks);
  order_ = std::move(traversal.order);
  peak_ = traversal.peak;
}

Bytes IceSheet::step_bytes() const {
  const solver::SquareMatrix none;
  const solver::FactorInput input{symbolic_, none, tree_, {}};
  // The matrix in elimination order, what putting it there takes, and two vectors.
  const Bytes entries = std::ssize(matrix_.row);
  const Bytes matrix = checked_mul(3 * entries, 16) + 64 * Bytes{matrix_.size};
  return checked_add(
      checked_add(peak_, solver::workspace_bytes<double>(input, input.tree.kind, 1)),
      matrix);
}

// D = rate Hm^5 (sx² + sy² + e²) at the corner north-east of a cell, with the mean
// thickness and the slopes of the surface there.
namespace {
struct Corner {
  double mean, sx, sy;
};
Corner corner_at(const IceSheetCase& test, std::span<const double> h, std::size_t p) {
  const auto nx = static_cast<std::size_t>(test.nx);
  const auto s = [&](std::size_t q) { return h[q] + test.bed[q]; };
  const double half = 0.5 / test.spacing;
  return {0.25 * (h[p] + h[p + 1] + h[p + nx] + h[p + nx + 1]),
          half * (s(p + 1) - s(p) + s(p + nx + 1) - s(p + nx)),
          half * (s(p + nx) - s(p) + s(p + nx + 1) - s(p + 1))};
}
}  // namespace

void IceSheet::find_diffusivity(std::span<const double> h) {
  const double e2 = test_.least_slope * test_.least_slope;
  std::size_t c = 0;
  for (std::int32_t j = 0; j + 1 < test_.ny; ++j)
    for (std::int32_t i = 0; i + 1 < test_.nx; ++i, ++c) {
      const auto [mean, sx, sy] = corner_at(test_, h, cell(i, j));
      const double m2 = mean * mean;
      corner_[c] = test_.rate[c] * m2 * m2 * mean * (sx * sx + sy * sy + e2);
    }
}

void IceSheet::diffusivity_adjoint(std::span<const double> h, std::span<double> h_bar,
                                   std::span<double> rate_bar) const {
  const double e2 = test_.least_slope * test_.least_slope;
  const double half = 0.5 / test_.spacing;
  const auto nx = static_cast<std::size_t>(test_.nx);
  std::size_t c = 0;
  for (std::int32_t j = 0; j + 1 < test_.ny; ++j)
    for (std::int32_t i = 0; i + 1 < test_.nx; ++i, ++c) {
      const std::size_t p = cell(i, j);
      const auto [mean, sx, sy] = corner_at(test_, h, p);
      const double m4 = mean * mean * mean * mean, slope2 = sx * sx + sy * sy + e2;
      rate_bar[c] += corner_bar_[c] * m4 * mean * slope2;
      const double bar = corner_bar_[c] * test_.rate[c];
      const double by_mean = 0.25 * bar * 5 * m4 * slope2;
      const double by_sx = bar * m4 * mean * 2 * sx * half;
      const double by_sy = bar * m4 * mean * 2 * sy * half;
      h_bar[p] += by_mean - by_sx - by_sy;
      h_bar[p + 1] += by_mean + by_sx - by_sy;
      h_bar[p + nx] += by_mean - by_sx + by_sy;
      h_bar[p + nx + 1] += by_mean + by_sx + by_sy;
    }
}

// At the edge of the grid both corners of a face are the one that it has.
template <class Each>
void IceSheet::for_faces(const Each& each) const {
  const std::int32_t nx = test_.nx, ny = test_.ny;
  const auto corner = [nx](std::int32_t i, std::int32_t j) {
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(nx - 1) +
           static_cast<std::size_t>(i);
  };
  for (std::int32_t j = 0; j < ny; ++j)
    for (std::int32_t i = 0; i < nx; ++i) {
      if (i + 1 < nx)
        each(cell(i, j), cell(i + 1, j), corner(i, std::max(0, j - 1)),
             corner(i, std::min(j, ny - 2)));
      if (j + 1 < ny)
        each(cell(i, j), cell(i, j + 1), corner(std::max(0, i - 1), j),
             corner(std::min(i, nx - 2), j));
    }
}

// b := (I + dt K(D))^-1 b with the diffusivity that was found last.
void IceSheet::solve(std::span<double> b) {
  const double scale = test_.dt / (test_.spacing * test_.spacing);
  std::fill(matrix_.value.begin(), matrix_.value.end(), 0.0);
  const auto diagonal = [&](std::size_t p) -> double& {
    return matrix_.value[static_cast<std::size_t>(matrix_.column_start[p])];
  };
  for (std::size_t p = 0; p < test_.cells(); ++p) diagonal(p) = 1;
  for_faces([&](std::size_t p, std::size_t q, std::size_t first, std::size_t last) {
    const double d = scale * 0.5 * (corner_[first] + corner_[last]);
    diagonal(p) += d;
    diagonal(q) += d;
    auto at = static_cast<std::size_t>(matrix_.column_start[p]) + 1;
    while (static_cast<std::size_t>(matrix_.row[at]) != q) ++at;
    matrix_.value[at] = -d;
  });
  const solver::SquareMatrix permuted{solver::permuted(matrix_, symbolic_.permutation),
                                      {}};
  solver::FactorReport report;
  const auto factor = solver::factorise_sequentially<double>(
      {symbolic_, permuted, tree_, {}}, order_, report);
  if (!factor)
    throw Error(fmt::format("the ice's system is not positive definite: column {}",
                            factor.error().column));
  for (std::size_t k = 0; k < solution_.size(); ++k)
    solution_[k] = b[static_cast<std::size_t>(symbolic_.permutation[k])];
  const solver::Vectors<double> vector{solution_.data(), matrix_.size, 1};
  solver::solve_sequentially<double>({symbolic_, tree_, *factor}, false, vector, vector);
  for (std::size_t k = 0; k < solution_.size(); ++k)
    b[static_cast<std::size_t>(symbolic_.permutation[k])] = solution_[k];
}

void IceSheet::turn(std::int64_t step, std::span<const double> old,
                    std::span<const double> at, std::span<double> next) {
  find_diffusivity(at);
  const double scale = test_.dt / (test_.spacing * test_.spacing);
  const double season = IceSheetCase::season(step);
  for (std::size_t p = 0; p < test_.cells(); ++p)
    next[p] = old[p] + test_.dt * season * test_.balance[p];
  for_faces([&](std::size_t p, std::size_t q, std::size_t first, std::size_t last) {
    const double flux =
        scale * 0.5 * (corner_[first] + corner_[last]) * (test_.bed[q] - test_.bed[p]);
    next[p] += flux;
    next[q] -= flux;
  });
  solve(next);
}

// bar of H^{k+1} becomes that of H^k; what goes to H_old is added to old_bar. With mu =
// (I + dt K)^-1 bar, the adjoint of D on a face is -dt (mu_q - mu_p)(s_q - s_p).
void IceSheet::turn_adjoint(std::span<const double> at, std::span<const double> next,
                            std::span<double> bar, std::span<double> rate_bar,
                            std::span<double> old_bar) {
  find_diffusivity(at);
  solve(bar);
  const double scale = test_.dt / (test_.spacing * test_.spacing);
  std::fill(corner_bar_.begin(), corner_bar_.end(), 0.0);
  for_faces([&](std::size_t p, std::size_t q, std::size_t first, std::size_t last) {
    const double rise = next[q] + test_.bed[q] - next[p] - test_.bed[p];
    const double d_bar = -scale * 0.5 * (bar[q] - bar[p]) * rise;
    corner_bar_[first] += d_bar;
    corner_bar_[last] += d_bar;
  });
  for (std::size_t p = 0; p < test_.cells(); ++p) old_bar[p] += bar[p];
  std::fill(bar.begin(), bar.end(), 0.0);
  diffusivity_adjoint(at, bar, rate_bar);
}

std::int32_t IceSheet::sound(std::int64_t step, double tolerance,
                             std::span<const double> from, std::span<double> to) {
  std::span<const double> at = from;
  for (std::size_t k = 0; k < turns_.size(); ++k) {
    turn(step, from, at, turns_[k]);
    double change = 0, largest = 0;
    for (std::size_t p = 0; p < at.size(); ++p) {
      change = std::max(change, std::abs(turns_[k][p] - at[p]));
      largest = std::max(largest, std::abs(turns_[k][p]));
    }
    at = turns_[k];
    if (change > tolerance * largest && k + 1 < turns_.size()) continue;
    std::copy(at.begin(), at.end(), to.begin());
    return static_cast<std::int32_t>(k) + 1;
  }
  return 0;
}

void IceSheet::step(std::int64_t step, std::int32_t turns, std::span<const double> from,
                    std::span<double> to) {
  std::span<const double> at = from;
  for (std::size_t k = 0; k < static_cast<std::size_t>(turns); ++k) {
    turn(step, from, at, turns_[k]);
    at = turns_[k];
  }
  std::copy(at.begin(), at.end(), to.begin());
}

void IceSheet::step_adjoint(std::int64_t step, std::int32_t turns,
                            std::span<const double> from, std::span<double> bar,
                            std::span<double> rate_bar) {
  const auto count = static_cast<std::size_t>(turns);
  for (std::size_t k = 0; k < count; ++k)
    turn(step, from, k == 0 ? from : std::span<const double>(turns_[k - 1]), turns_[k]);
  std::fill(old_bar_.begin(), old_bar_.end(), 0.0);
  for (std::size_t k = count; k-- > 0;)
    turn_adjoint(k == 0 ? from : std::span<const double>(turns_[k - 1]), turns_[k], bar,
                 rate_bar, old_bar_);
  for (std::size_t p = 0; p < test_.cells(); ++p) bar[p] += old_bar_[p];
}

double IceSheet::misfit(std::span<const double> h) const {
  double sum = 0;
  for (std::size_t p = 0; p < test_.cells(); ++p) {
    const double distance = h[p] + test_.bed[p] - test_.observed[p];
    sum += distance * distance;
  }
  return 0.5 * sum;
}

void IceSheet::misfit_adjoint(std::span<const double> h, std::span<double> bar) const {
  for (std::size_t p = 0; p < test_.cells(); ++p)
    bar[p] = h[p] + test_.bed[p] - test_.observed[p];
}

}  // namespace espalier::training
