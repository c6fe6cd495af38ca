#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace espalier::solver {

/// The largest of |values|, those that are not numbers left out; 0: there is none.
///
/// @par Cost  a pass, in lanes that a processor compares side by side
[[nodiscard]] inline double largest_modulus(std::span<const double> values) {
  constexpr std::size_t kLanes = 8;
  double lane[kLanes] = {};
  std::size_t k = 0;
  for (; k + kLanes <= values.size(); k += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l)
      lane[l] = std::max(lane[l], std::abs(values[k + l]));
  for (; k < values.size(); ++k) lane[0] = std::max(lane[0], std::abs(values[k]));
  return *std::ranges::max_element(lane);
}

}  // namespace espalier::solver
