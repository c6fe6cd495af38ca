#pragma once

// Largest modulus of a column, in integers: the reduction vectorises without leave to
// ignore NaN, and NaN counts as the largest. Private to the kernels.

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace espalier::solver::kernels {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/// Order of moduli as order of integers.
template <class T>
Bits<T> magnitude(T x) {
  return std::bit_cast<Bits<T>>(x) & ~(Bits<T>{1} << (8 * sizeof(T) - 1));
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
T modulus(Bits<T> bits) {
  return std::bit_cast<T>(bits);
}

}  // namespace espalier::solver::kernels
