#pragma once

// Largest modulus of a column, in integers: the reduction vectorises without leave to
// ignore NaN, and NaN counts as the largest. Private to the kernels.

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "solver/matrix/entry.h"

namespace espalier::solver::kernels {

template <class T>
using Bits = std::conditional_t<sizeof(RealOf<T>) == 8, std::uint64_t, std::uint32_t>;

/// Order of moduli as order of integers; of complex numbers: of size_of().
template <class T>
Bits<T> magnitude(T x) {
  constexpr Bits<T> kSign = Bits<T>{1} << (8 * sizeof(RealOf<T>) - 1);
  if constexpr (kIsComplex<T>)
    return std::bit_cast<Bits<T>>(size_of(x)) & ~kSign;
  else
    return std::bit_cast<Bits<T>>(x) & ~kSign;
}

template <class T>
Bits<T> largest_magnitude(std::int32_t n, const T* x) {
  Bits<T> largest = 0;
  for (std::int32_t i = 0; i < n; ++i) {
    const Bits<T> each = magnitude(x[i]);
    largest = each > largest ? each : largest;
  }
  return largest;
}

template <class T>
RealOf<T> modulus(Bits<T> bits) {
  return std::bit_cast<RealOf<T>>(bits);
}

}  // namespace espalier::solver::kernels
