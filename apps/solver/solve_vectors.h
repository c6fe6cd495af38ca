#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "espalier/model/units.h"
#include "solver/matrix_kind.h"
#include "solver/triangular_solve.h"

namespace espalier::solver {

/// The vectors of triangular solves in T whose right-hand sides and solutions are in
/// double precision: copies where T is float, and for LU solutions apart from what is
/// still read.
template <class T>
class SolveVectors {
 public:
  SolveVectors() = default;
  /// For blocks of `columns` vectors at most.
  SolveVectors(std::int32_t size, FactorKind kind, std::int32_t columns)
      : size_(size), apart_(kind == FactorKind::kLu) {
    const std::int64_t entries = std::int64_t{size} * columns;
    first_.resize(kConverts ? entries : 0);
    second_.resize(apart_ ? entries : 0);
  }

  /// What the constructor allocates.
  [[nodiscard]] static Bytes bytes(std::int32_t size, FactorKind kind,
                                   std::int32_t columns) {
    const std::int64_t copies = (kConverts ? 1 : 0) + (kind == FactorKind::kLu ? 1 : 0);
    return checked_mul(checked_mul(copies * size, columns), sizeof(T));
  }

  /// block := what solve(b, x) makes of it, with Vectors<T> b, which it may overwrite,
  /// and x, which may be b unless the factor is of LU.
  template <class Solve>
  void apply(std::span<double> block, std::int32_t columns, const Solve& solve) {
    const auto vectors = [&](T* data) { return Vectors<T>{data, size_, columns}; };
    if constexpr (kConverts) {
      const std::vector<int> exponents = convert(block, columns);
      T* const x = apart_ ? second_.data() : first_.data();
      solve(vectors(first_.data()), vectors(x));
      convert_back(x, exponents, block);
    } else {
      T* const x = apart_ ? second_.data() : block.data();
      solve(vectors(block.data()), vectors(x));
      if (apart_) std::copy_n(x, block.size(), block.data());
    }
  }

 private:
  static constexpr bool kConverts = sizeof(T) < sizeof(double);

  // Into T, each vector divided by the power of two that brings its largest entry near 1:
  // the range of T is smaller than that of double. @return the exponents
  std::vector<int> convert(std::span<const double> block, std::int32_t columns) {
    std::vector<int> exponents(static_cast<std::size_t>(columns), 0);
    for (std::int32_t v = 0; v < columns; ++v) {
      const std::int64_t begin = std::int64_t{v} * size_;
      double largest = 0;
      for (std::int64_t k = begin; k < begin + size_; ++k)
        largest = std::max(largest, std::abs(block[k]));
      if (largest > 0 && std::isfinite(largest)) std::frexp(largest, &exponents[v]);
      for (std::int64_t k = begin; k < begin + size_; ++k)
        first_[k] = static_cast<T>(std::ldexp(block[k], -exponents[v]));
    }
    return exponents;
  }
  void convert_back(const T* x, std::span<const int> exponents,
                    std::span<double> block) const {
    for (std::size_t v = 0; v < exponents.size(); ++v)
      for (std::int64_t k = 0; k < size_; ++k, ++x)
        block[static_cast<std::int64_t>(v) * size_ + k] =
            std::ldexp(static_cast<double>(*x), exponents[v]);
  }

  std::int32_t size_ = 0;
  bool apart_ = false;
  std::vector<T> first_, second_;
};

}  // namespace espalier::solver
