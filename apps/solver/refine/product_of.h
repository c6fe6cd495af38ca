#pragma once

#include <cstddef>
#include <span>

namespace espalier::solver {

/// The sum of products of two vectors' numbers, one after the other.
[[nodiscard]] inline double product_of(std::span<const double> a,
                                       std::span<const double> b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

}  // namespace espalier::solver
