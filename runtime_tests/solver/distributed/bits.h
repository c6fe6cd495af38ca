#pragma once

// Numbers that are to have the same bits.

#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace espalier::solver {

inline bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

/// Of vectors that are as long; empty: they are the same.
inline std::string other_bits(const std::vector<double>& alone,
                              const std::vector<double>& found) {
  std::size_t others = 0;
  std::string first;
  for (std::size_t i = 0; i < alone.size(); ++i) {
    if (std::memcmp(&alone[i], &found[i], sizeof alone[i]) == 0) continue;
    if (others++ == 0) first = fmt::format("{}, alone {}", found[i], alone[i]);
  }
  if (others == 0) return {};
  return fmt::format("{} of {} entries have other bits; the first: {}", others,
                     alone.size(), first);
}

}  // namespace espalier::solver
