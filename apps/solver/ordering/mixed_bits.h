#pragma once

#include <cstdint>

namespace espalier::solver {

/// The finaliser of SplitMix64: numbers that look drawn by lot, the same in every run.
[[nodiscard]] constexpr std::uint64_t mixed_bits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace espalier::solver
