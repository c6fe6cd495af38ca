#pragma once

namespace espalier::solver {

/// A backward error beyond this is a solution that must not be trusted. Refinement is in
/// double precision whatever the factor is in.
/// @param rough  of a factor in single precision, without refinement
[[nodiscard]] constexpr double good_backward_error(bool rough) {
  return rough ? 5.36870912e-4 : 1e-12;  // both 4504 times the epsilon of the precision
}

/// A solution whose error may be more than this part of it must not be trusted.
inline constexpr double kGoodForwardError = 0.1;

/// Why a solution is not to be trusted: everything that the run knows.
struct Doubts {
  /// The matrix is singular to working precision: there are many solutions, or none.
  bool singular = false;
  bool backward_error = false;  ///< above good_backward_error(), or not a number
  bool forward_error = false;   ///< its bound is above kGoodForwardError, likewise

  [[nodiscard]] bool any() const { return singular || backward_error || forward_error; }
};

}  // namespace espalier::solver
