#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace espalier::solver {

/// First position from `from` on whose row is not less than `row`; rows are ascending.
/// Some single steps, then doubling ones and bisection: a search costs the logarithm of
/// the distance.
inline std::size_t gallop(std::span<const std::int32_t> rows, std::size_t from,
                          std::int32_t row) {
  constexpr std::size_t kSingle = 8;
  for (const std::size_t near = std::min(rows.size(), from + kSingle); from < near;
       ++from)
    if (rows[from] >= row) return from;
  std::size_t step = 1, high = from;
  while (high < rows.size() && rows[high] < row) {
    from = high + 1;
    high += step;
    step *= 2;
  }
  const auto begin = rows.begin();
  return static_cast<std::size_t>(
      std::lower_bound(begin + from, begin + std::min(high, rows.size()), row) - begin);
}

}  // namespace espalier::solver
