#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solver/symbolic/analyse.h"
#include "solver/tree/assembly_tree.h"

namespace espalier::training {

/// The shallow-ice approximation: the thickness H of an ice sheet on a bed b flows by
///
///   H_t = div(D grad s) + a,   s = b + H,   D = A H^5 (|grad s|² + e²),
///
/// with Glen's exponent 3, a rate factor A (with the constants of ice in it) and a mass
/// balance a that changes with the seasons of the climate. Nothing flows through the edge
/// of the grid. D lives on the corners of cells [Mah76], and on a face it is the mean of
/// the corners that it has.
///
/// A step is implicit in H and linear in each turn of the viscosity iteration:
///
///   (I + dt K(D(H^k))) H^{k+1} = H_old + dt (a - K(D(H^k)) b),   H^0 = H_old,
///
/// a symmetric positive definite system that our own sparse Cholesky factorisation
/// solves. The number of turns is a step's cost: sound() tells how many it needs.
///
/// Fields have one value a cell, row after row; the rate factor one for each corner
/// inside, (nx - 1) * (ny - 1).
struct IceSheetCase {
  std::int32_t nx = 0, ny = 0;
  double spacing = 0;         ///< m
  double dt = 0;              ///< years
  double least_slope = 1e-3;  ///< e
  std::vector<double> bed, initial, balance, observed;
  std::vector<double> rate;

  [[nodiscard]] std::size_t cells() const {
    return static_cast<std::size_t>(nx) * static_cast<std::size_t>(ny);
  }
  [[nodiscard]] std::size_t corners() const {
    return static_cast<std::size_t>(nx - 1) * static_cast<std::size_t>(ny - 1);
  }
  /// Of the mass balance in a step.
  [[nodiscard]] static double season(std::int64_t step);
};
[[nodiscard]] IceSheetCase ice_sheet_case(std::int32_t nx, std::int32_t ny);

/// Steps of a case, one after the other: each call uses the same working memory.
class IceSheet {
 public:
  /// @param test  outlives this
  /// @param most_turns  of any step
  IceSheet(const IceSheetCase& test, std::int32_t most_turns);

  /// Turns until H changes by less than `tolerance` of its largest value, at least 1 and
  /// at most most_turns; advances like step().
  std::int32_t sound(std::int64_t step, double tolerance, std::span<const double> from,
                     std::span<double> to);
  /// One time step of so many turns; `to` may be `from`.
  void step(std::int64_t step, std::int32_t turns, std::span<const double> from,
            std::span<double> to);
  /// Its adjoint: bar becomes that of `from`, and that of the rate factor is added to
  /// rate_bar.
  void step_adjoint(std::int64_t step, std::int32_t turns, std::span<const double> from,
                    std::span<double> bar, std::span<double> rate_bar);

  /// Half the squared distance of the surface to the observed one.
  [[nodiscard]] double misfit(std::span<const double> h) const;
  void misfit_adjoint(std::span<const double> h, std::span<double> bar) const;

  /// Most memory that a step takes, factorisation included, beside what the constructor
  /// has allocated.
  [[nodiscard]] Bytes step_bytes() const;

 private:
  using Values = std::vector<double>;
  [[nodiscard]] std::size_t cell(std::int32_t i, std::int32_t j) const {
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(test_.nx) +
           static_cast<std::size_t>(i);
  }
  void turn(std::int64_t step, std::span<const double> old, std::span<const double> at,
            std::span<double> next);
  void turn_adjoint(std::span<const double> at, std::span<const double> next,
                    std::span<double> bar, std::span<double> rate_bar,
                    std::span<double> old_bar);
  void find_diffusivity(std::span<const double> h);
  void diffusivity_adjoint(std::span<const double> h, std::span<double> h_bar,
                           std::span<double> rate_bar) const;
  /// each(p, q, first, last): the faces between cells p and q, with their corners.
  template <class Each>
  void for_faces(const Each& each) const;
  void solve(std::span<double> b);

  const IceSheetCase& test_;
  solver::SymmetricMatrix matrix_;
  solver::Symbolic symbolic_;
  solver::AssemblyTree tree_;
  std::vector<TaskId> order_;
  Bytes peak_ = 0;
  Values corner_, corner_bar_;  // D and its adjoint
  std::vector<Values> turns_;   // H^1 … of a step
  Values old_bar_, solution_;
};

}  // namespace espalier::training
