#pragma once

// The numbers that a factor consists of: float, double, std::complex of either, and
// HermitianEntry of either, which is the same number in a matrix with A^H = A. Kernels,
// fronts and solves are written for "what stands across": across(x) is the entry opposite
// x, so that A B^T reads A B^H where entries are of a Hermitian matrix. Which it is is
// known to the compiler; real code is what it would be without complex numbers.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <type_traits>

namespace espalier::solver {

/// An entry of a Hermitian matrix, or of its factor L L^H or L D L^H.
template <class R>
struct HermitianEntry : std::complex<R> {
  using std::complex<R>::complex;
  using std::complex<R>::operator=;
  HermitianEntry() = default;
  // Not explicit: sums and products of entries are std::complex.
  HermitianEntry(const std::complex<R>& value) : std::complex<R>(value) {}
};

template <class T>
struct EntryTraits {
  using Real = T;
  static constexpr bool kComplex = false, kHermitian = false;
};
template <class R>
struct EntryTraits<std::complex<R>> {
  using Real = R;
  static constexpr bool kComplex = true, kHermitian = false;
};
template <class R>
struct EntryTraits<HermitianEntry<R>> {
  using Real = R;
  static constexpr bool kComplex = true, kHermitian = true;
};

template <class T>
using RealOf = typename EntryTraits<T>::Real;
template <class T>
inline constexpr bool kIsComplex = EntryTraits<T>::kComplex;
template <class T>
inline constexpr bool kIsHermitian = EntryTraits<T>::kHermitian;
/// Real numbers in an entry.
template <class T>
inline constexpr std::int32_t kParts = kIsComplex<T> ? 2 : 1;

/// The entry opposite an entry, across the diagonal.
template <class T>
T across(T x) {
  if constexpr (kIsHermitian<T>)
    return T(x.real(), -x.imag());
  else
    return x;
}

/// An entry of the diagonal, without what rounding may have left of an imaginary part
/// where there is none.
template <class T>
T on_diagonal(T x) {
  if constexpr (kIsHermitian<T>)
    return T(x.real());
  else
    return x;
}

template <class T>
RealOf<T> real_part(T x) {
  if constexpr (kIsComplex<T>)
    return x.real();
  else
    return x;
}

/// |x|, of complex numbers |re| + |im|: at least the modulus, and at most sqrt(2) times
/// it. What entries are compared by.
template <class T>
RealOf<T> size_of(T x) {
  if constexpr (kIsComplex<T>)
    return std::abs(x.real()) + std::abs(x.imag());
  else
    return std::abs(x);
}

/// |x| in double precision.
template <class T>
double modulus_of(T x) {
  if constexpr (kIsComplex<T>)
    return std::hypot(double(x.real()), double(x.imag()));
  else
    return std::abs(double(x));
}

/// A number of modulus `size` with the sign, or the argument, of x; of 0: `size`.
template <class T>
T signed_as(RealOf<T> size, T x) {
  if constexpr (!kIsComplex<T>) {
    return std::copysign(size, x);
  } else if constexpr (kIsHermitian<T>) {
    return T(std::copysign(size, x.real()));
  } else {
    const RealOf<T> largest = std::max(std::abs(x.real()), std::abs(x.imag()));
    if (!(largest > 0)) return T(size);
    const T direction(x.real() / largest, x.imag() / largest);
    return direction * (size / std::abs(direction));
  }
}

/// Whether a pivot counts as a negative eigenvalue; those of complex symmetric matrices
/// have no sign.
template <class T>
bool is_negative(T pivot) {
  if constexpr (kIsComplex<T> && !kIsHermitian<T>)
    return false;
  else
    return real_part(pivot) < 0;
}
/// Whether a 2 x 2 pivot has an eigenvalue of each sign.
template <class T>
inline constexpr bool kHasInertia = !kIsComplex<T> || kIsHermitian<T>;

/// The same in double precision.
template <class T>
using Wide =
    std::conditional_t<kIsHermitian<T>, HermitianEntry<double>,
                       std::conditional_t<kIsComplex<T>, std::complex<double>, double>>;

template <class T>
Wide<T> widened(T x) {
  if constexpr (kIsComplex<T>)
    return Wide<T>(x.real(), x.imag());
  else
    return x;
}

/// Calls a macro with each of the types of entries.
#define ESPALIER_FOR_ENTRIES(macro) \
  macro(double) macro(float) ESPALIER_FOR_COMPLEX_ENTRIES(macro)
#define ESPALIER_FOR_COMPLEX_ENTRIES(macro)                                            \
  macro(std::complex<double>) macro(std::complex<float>) macro(HermitianEntry<double>) \
      macro(HermitianEntry<float>)

}  // namespace espalier::solver
