#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace espalier::solver {

/// 0, 1, …, count - 1.
inline std::vector<std::int32_t> identity(std::size_t count) {
  std::vector<std::int32_t> result(count);
  std::iota(result.begin(), result.end(), 0);
  return result;
}

}  // namespace espalier::solver
