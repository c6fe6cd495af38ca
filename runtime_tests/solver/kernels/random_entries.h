#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

#include "solver/matrix/entry.h"

namespace espalier::solver::kernels {

/// A fixture that draws sizes and entries, the same ones each time.
template <class T>
class RandomEntries : public testing::Test {
 protected:
  explicit RandomEntries(std::uint32_t seed) : random(seed) {}

  /// From `first` to `last`, both included.
  std::int32_t draw(std::int32_t first, std::int32_t last) {
    return std::uniform_int_distribution<std::int32_t>(first, last)(random);
  }
  /// From -1 to 1, of complex entries both parts.
  T value() {
    std::uniform_real_distribution<RealOf<T>> part(-1, 1);
    if constexpr (kIsComplex<T>) {
      const RealOf<T> real = part(random);
      return T(real, part(random));
    } else {
      return part(random);
    }
  }

  std::mt19937 random;
};

}  // namespace espalier::solver::kernels
