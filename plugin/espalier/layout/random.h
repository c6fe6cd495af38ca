#pragma once

#include <cmath>
#include <cstdint>

namespace espalier {

/// splitmix64 [SLF14]: the same numbers everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  /// 0 … n-1; the bias is below n / 2^64.
  std::uint64_t below(std::uint64_t n) { return next() % n; }
  /// 0 … 1, 1 excluded.
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// e^-spread … e^spread.
  double factor(double spread) { return std::exp(spread * (2 * unit() - 1)); }

 private:
  std::uint64_t state_;
};

}  // namespace espalier
