#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "espalier/model/units.h"
#include "solver/matrix/entry.h"
#include "solver/matrix/matrix_kind.h"
#include "solver/solve/triangular_solve.h"

namespace espalier::solver {

/// The vectors of triangular solves in T whose right-hand sides and solutions are in
/// double precision, complex ones as real and imaginary parts in turn: copies where T is
/// float, and for LU solutions apart from what is still read.
template <class T>
class SolveVectors {
 public:
  SolveVectors() = default;
  /// For blocks of `nrhs` vectors at most.
  /// @param systems  independent_systems(); empty: there is one
  SolveVectors(std::int32_t size, FactorKind kind, std::int32_t nrhs,
               std::vector<std::int32_t>&& systems = {})
      : size_(size), apart_(kind == FactorKind::kLu), systems_(std::move(systems)) {
    if (!systems_.empty()) system_count_ = std::ranges::max(systems_) + 1;
    const std::int64_t entries = std::int64_t{size} * nrhs;
    first_.resize(kConverts ? entries : 0);
    second_.resize(apart_ ? entries : 0);
  }

  /// What the constructor allocates.
  [[nodiscard]] static Bytes bytes(std::int32_t size, FactorKind kind,
                                   std::int32_t nrhs) {
    const std::int64_t copies = (kConverts ? 1 : 0) + (kind == FactorKind::kLu ? 1 : 0);
    const Bytes vectors = checked_mul(checked_mul(copies * size, nrhs), sizeof(T));
    if (!kConverts) return vectors;
    // The systems, no more than unknowns, their largest entries and exponents.
    return checked_add(
        vectors, checked_mul(std::int64_t{size} * (nrhs + 3), sizeof(std::int32_t)));
  }

  /// block := what solve(b, x) makes of it, with Vectors<T> b, which it may overwrite,
  /// and x, which may be b unless the factor is of LU.
  template <class Solve>
  void apply(std::span<double> block, std::int32_t nrhs, const Solve& solve) {
    const auto vectors = [&](T* data) { return Vectors<T>{data, size_, nrhs}; };
    if constexpr (kConverts) {
      const std::vector<int> exponents = convert(block, nrhs);
      T* const x = apart_ ? second_.data() : first_.data();
      solve(vectors(first_.data()), vectors(x));
      convert_back(x, exponents, block);
    } else {
      T* const x = apart_ ? second_.data() : entries(block);
      solve(vectors(entries(block)), vectors(x));
      if (apart_) std::copy_n(x, block.size() / kParts<T>, entries(block));
    }
  }

 private:
  static constexpr bool kConverts = sizeof(RealOf<T>) < sizeof(double);
  using Real = RealOf<T>;

  // Complex numbers are their parts, one after the other.
  static T* entries(std::span<double> block) {
    return reinterpret_cast<T*>(block.data());
  }

  // Into T, each vector of each independent system divided by the power of two that
  // brings its largest entry near 1: the range of T is smaller than that of double.
  // @return the exponents
  std::vector<int> convert(std::span<const double> block, std::int32_t nrhs) {
    std::vector<int> exponents(static_cast<std::size_t>(nrhs) * system_count_, 0);
    std::vector<double> largest(static_cast<std::size_t>(system_count_));
    const double* b = block.data();
    auto* to = reinterpret_cast<Real*>(first_.data());
    const std::int32_t n = kParts<T> * size_;
    for (std::int32_t v = 0; v < nrhs; ++v, b += n, to += n) {
      int* const own = exponents.data() + std::int64_t{v} * system_count_;
      std::ranges::fill(largest, 0.0);
      for (std::int32_t k = 0; k < n; ++k)
        largest[system(k)] = std::max(largest[system(k)], std::abs(b[k]));
      for (std::int32_t s = 0; s < system_count_; ++s)
        if (largest[s] > 0 && std::isfinite(largest[s])) std::frexp(largest[s], &own[s]);
      for (std::int32_t k = 0; k < n; ++k)
        to[k] = static_cast<Real>(std::ldexp(b[k], -own[system(k)]));
    }
    return exponents;
  }
  void convert_back(const T* solution, std::span<const int> exponents,
                    std::span<double> block) const {
    double* to = block.data();
    const auto* x = reinterpret_cast<const Real*>(solution);
    const std::int32_t n = kParts<T> * size_;
    for (std::size_t v = 0; v < exponents.size(); v += system_count_, to += n)
      for (std::int32_t k = 0; k < n; ++k, ++x)
        to[k] = std::ldexp(static_cast<double>(*x), exponents[v + system(k)]);
  }

  // Of number k of a vector.
  [[nodiscard]] std::int32_t system(std::int32_t k) const {
    return systems_.empty() ? 0 : systems_[k / kParts<T>];
  }

  std::int32_t size_ = 0;
  bool apart_ = false;
  std::vector<std::int32_t> systems_;  // of each unknown
  std::int32_t system_count_ = 1;
  std::vector<T> first_, second_;
};

}  // namespace espalier::solver
