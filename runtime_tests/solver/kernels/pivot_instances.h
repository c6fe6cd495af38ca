// Random block columns for factor_pivot_block(), kept as one dense matrix, and the
// product of the factors that come back: one subject, over 300 lines.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "solver/kernels/pivot_block.h"
#include "solver/kernels/row_tiles.h"
#include "solver/matrix/entry.h"

namespace espalier::solver::kernels {

/// What products are checked in.
template <class T>
using Exact = std::conditional_t<
    kIsHermitian<T>, HermitianEntry<long double>,
    std::conditional_t<kIsComplex<T>, std::complex<long double>, long double>>;

template <class T>
Exact<T> exact(T x) {
  if constexpr (kIsComplex<T>)
    return Exact<T>(x.real(), x.imag());
  else
    return x;
}

/// A w-column block with `rows` rows below it and, for LU, as many right of it.
template <class T>
struct DenseBlock {
  FactorKind kind;
  std::int32_t width, rows;
  std::vector<T> left;   ///< (w + rows) x w; symmetric kinds: symmetric, or
                         ///< Hermitian, in the first w
  std::vector<T> right;  ///< LU: rows x w, transposed

  DenseBlock(FactorKind k, std::int32_t w, std::int32_t m)
      : kind(k),
        width(w),
        rows(m),
        left(std::size_t(w + m) * w),
        right(std::size_t(m) * w) {}

  T& operator()(std::int32_t i, std::int32_t j) {
    return left[i + std::size_t(j) * (width + rows)];
  }
  T operator()(std::int32_t i, std::int32_t j) const {
    return left[i + std::size_t(j) * (width + rows)];
  }
  /// Sets an entry and, in the symmetric block, its mirror image.
  void set(std::int32_t i, std::int32_t j, T value) {
    (*this)(i, j) = i == j ? on_diagonal(value) : value;
    if (kind != FactorKind::kLu && i < width) (*this)(j, i) = across((*this)(i, j));
  }
};

/// A block in the layout of PivotBlock, split into segments at random, canaries around.
template <class T>
class SplitBlock {
 public:
  static constexpr RealOf<T> kCanary = std::numeric_limits<RealOf<T>>::max();

  template <class Random>
  SplitBlock(const DenseBlock<T>& a, Random& random)
      : kind_(a.kind),
        width_(a.width),
        leading_(a.width + std::int32_t(random() % 3) + (a.width == 0)),
        diagonal_(std::size_t(leading_) * a.width + 1, kCanary),
        row_order_(a.width, -1),
        column_order_(a.width, -1),
        d_(2 * std::size_t(a.width), kCanary) {
    for (std::int32_t j = 0; j < width_; ++j)
      for (std::int32_t i = kind_ == FactorKind::kLu ? 0 : j; i < width_; ++i)
        diagonal_[i + std::size_t(j) * leading_] = a(i, j);
    split(a.left.data() + width_, width_ + a.rows, a.rows, random, below_);
    if (kind_ == FactorKind::kLu) split(a.right.data(), a.rows, a.rows, random, right_);
  }

  PivotCounts factor(const PivotRule& rule) {
    std::vector<T> scratch(pivot_scratch(kind_, width_),
                           std::numeric_limits<RealOf<T>>::quiet_NaN());
    const auto below = segments(below_), right = segments(right_);
    return factor_pivot_block(kind_, block(below, right), rule, scratch);
  }

  /// The same by tiles: the first `together` segments with the diagonal block, the others
  /// one by one. What these do not bear is put back, and not tried again.
  PivotCounts factor_by_tiles(const PivotRule& rule, std::size_t together) {
    std::vector<T> scratch(pivot_scratch(kind_, width_),
                           std::numeric_limits<RealOf<T>>::quiet_NaN());
    const auto below = segments(below_), right = segments(right_);
    const auto first = [&](const std::vector<RowSegment<T>>& all) {
      return std::span(all).first(std::min(together, all.size()));
    };
    const PivotCounts counts =
        factor_pivot_block(kind_, block(first(below), first(right)), rule, scratch);
    std::vector<std::int32_t> kept(below.size(), counts.eliminated);
    const PivotBlock<T> all = block(below, right);
    for (std::size_t k = together; k < below.size(); ++k)
      kept[k] =
          solve_rows(kind_, all, counts.eliminated, rule.threshold, below[k], scratch);
    for (std::size_t k = together; k < right.size(); ++k)
      solve_right_rows(all, counts.eliminated, right[k], scratch);
    std::int32_t least = counts.eliminated;
    for (const std::int32_t count : kept) least = std::min(least, count);
    if (least < counts.eliminated)
      put_back(kind_, all, counts.eliminated, kept, least, scratch);
    return count_pivots(kind_, all, least);
  }

  [[nodiscard]] T diagonal(std::int32_t i, std::int32_t j) const {
    return diagonal_[i + std::size_t(j) * leading_];
  }
  [[nodiscard]] T below(std::int32_t i, std::int32_t j) const {
    return find(below_, i, j);
  }
  [[nodiscard]] T right(std::int32_t i, std::int32_t j) const {
    return find(right_, i, j);
  }
  [[nodiscard]] const std::vector<std::int32_t>& row_order() const { return row_order_; }
  [[nodiscard]] const std::vector<std::int32_t>& column_order() const {
    return kind_ == FactorKind::kLu ? column_order_ : row_order_;
  }
  [[nodiscard]] T d(std::int32_t k) const { return d_[k]; }

  [[nodiscard]] bool canaries_live() const {
    for (std::int32_t j = 0; j < width_; ++j)
      for (std::int32_t i = 0; i < leading_; ++i)
        if ((i >= width_ || (kind_ != FactorKind::kLu && i < j)) &&
            diagonal(i, j) != T(kCanary))
          return false;
    for (const auto* part : {&below_, &right_})
      for (const Piece& piece : *part)
        for (std::size_t k = 0; k < piece.entries.size(); ++k)
          if (std::int32_t(k % piece.leading) >= piece.rows &&
              piece.entries[k] != T(kCanary))
            return false;
    return diagonal_.back() == T(kCanary);
  }

 private:
  struct Piece {
    std::int32_t rows, leading;
    std::vector<T> entries;
  };

  PivotBlock<T> block(std::span<const RowSegment<T>> below,
                      std::span<const RowSegment<T>> right) {
    return {width_,
            diagonal_.data(),
            leading_,
            below,
            right,
            row_order_.data(),
            column_order_.data(),
            d_.data()};
  }

  template <class Random>
  void split(const T* a, std::int32_t lda, std::int32_t rows, Random& random,
             std::vector<Piece>& pieces) {
    for (std::int32_t first = 0; first < rows;) {
      const std::int32_t m = std::int32_t(random() % (rows - first + 1));
      Piece piece{m, m + std::int32_t(random() % 3) + 1, {}};
      piece.entries.assign(std::size_t(piece.leading) * width_, kCanary);
      for (std::int32_t j = 0; j < width_; ++j)
        for (std::int32_t i = 0; i < m; ++i)
          piece.entries[i + std::size_t(j) * piece.leading] =
              a[first + i + std::size_t(j) * lda];
      pieces.push_back(std::move(piece));
      first += m;
    }
  }

  static std::vector<RowSegment<T>> segments(std::vector<Piece>& pieces) {
    std::vector<RowSegment<T>> list;
    for (Piece& piece : pieces)
      list.push_back({piece.entries.data(), piece.leading, piece.rows});
    return list;
  }

  static T find(const std::vector<Piece>& pieces, std::int32_t i, std::int32_t j) {
    std::size_t k = 0;
    while (i >= pieces[k].rows) i -= pieces[k++].rows;
    return pieces[k].entries[i + std::size_t(j) * pieces[k].leading];
  }

  FactorKind kind_;
  std::int32_t width_, leading_;
  std::vector<T> diagonal_;
  std::vector<Piece> below_, right_;
  std::vector<std::int32_t> row_order_, column_order_;
  std::vector<T> d_;
};

/// Complex ones by the definition, in a tenth of the time of the operator, which looks
/// after infinities; NaN stays NaN.
template <class E>
E product(E a, E b) {
  if constexpr (kIsComplex<E>)
    return E(a.real() * b.real() - a.imag() * b.imag(),
             a.real() * b.imag() + a.imag() * b.real());
  else
    return a * b;
}

/// What the factors and the Schur complement multiply out to, against the block that was
/// given, in long double.
template <class T>
struct Residual {
  long double largest = 0;    ///< of L D L^T + rest - P A P^T, or L U + rest - P A Q
  long double size = 0;       ///< largest sum of moduli in that product
  long double largest_l = 0;  ///< largest entry of L
  /// Pivots whose diagonal entry alone is off, by more than rounding errors would have
  /// it.
  std::vector<std::int32_t> off;
};

/// Entries of the factors of a block, of which e columns were eliminated, and of the
/// block.
template <class T>
struct FactorEntries {
  const DenseBlock<T>& a;
  const SplitBlock<T>& f;
  std::int32_t e, w = a.width, m = a.rows;
  bool lu = a.kind == FactorKind::kLu, cholesky = a.kind == FactorKind::kCholesky;

  [[nodiscard]] Exact<T> left(std::int32_t i, std::int32_t j) const {
    return exact(i < w ? f.diagonal(i, j) : f.below(i - w, j));
  }
  [[nodiscard]] Exact<T> l(std::int32_t i, std::int32_t k) const {
    if (i < k) return 0;
    return i == k && !cholesky ? Exact<T>(1) : left(i, k);
  }
  [[nodiscard]] Exact<T> upper(std::int32_t k, std::int32_t j) const {
    if (lu) return exact(j >= w ? f.right(j - w, k) : j < k ? T(0) : f.diagonal(k, j));
    if (cholesky) return across(l(j, k));
    Exact<T> sum = exact(f.d(2 * k)) * across(l(j, k));
    if (k > 0) sum += exact(f.d(2 * k - 1)) * across(l(j, k - 1));
    if (k + 1 < e) sum += exact(across(f.d(2 * k + 1))) * across(l(j, k + 1));
    return sum;
  }
  /// What is left of an entry.
  [[nodiscard]] Exact<T> rest(std::int32_t i, std::int32_t j) const {
    if (i < e || j < e) return 0;
    if (j >= w) return exact(f.right(j - w, i));
    return lu || i >= j ? left(i, j) : across(left(j, i));
  }
  [[nodiscard]] Exact<T> given(std::int32_t i, std::int32_t j) const {
    const std::int32_t row = i < w && !cholesky ? f.row_order()[i] : i;
    if (j >= w) return exact(a.right[j - w + std::size_t(row) * m]);
    return exact(a(row, cholesky ? j : f.column_order()[j]));
  }
};

template <class T>
Residual<T> residual(const DenseBlock<T>& a, const SplitBlock<T>& f, std::int32_t e,
                     long double tolerance = -1) {
  const FactorEntries<T> entries{a, f, e};
  const std::int32_t w = a.width, m = a.rows;
  const bool lu = entries.lu;
  struct Factor {
    Exact<T> value = 0;
    long double modulus = 0;
    void operator=(Exact<T> x) { value = x, modulus = std::abs(x); }
  };
  std::vector<Factor> lows(std::size_t(w + m) * e), ups(std::size_t(w + m) * e);
  Residual<T> result;
  for (std::int32_t k = 0; k < e; ++k) {
    for (std::int32_t i = 0; i < w + m; ++i) {
      Factor& low = lows[std::size_t(i) * e + k];
      low = entries.l(i, k);
      if (lu || i < w) ups[std::size_t(i) * e + k] = entries.upper(k, i);
      if (!(low.modulus <= result.largest_l)) result.largest_l = low.modulus;  // NaN too
    }
  }
  const auto compare = [&](std::int32_t i, std::int32_t j) {
    Exact<T> sum = entries.rest(i, j);
    long double size = std::abs(sum);
    for (std::int32_t k = 0; k < std::min(e, i + 1); ++k) {  // L is lower triangular
      const Factor& low = lows[std::size_t(i) * e + k];
      const Factor& up = ups[std::size_t(j) * e + k];
      sum += product(low.value, up.value);
      size += low.modulus * up.modulus;
    }
    const long double error = std::abs(sum - entries.given(i, j));
    if (!(size <= result.size)) result.size = size;
    if (i == j && i < e && tolerance >= 0 && !(error <= tolerance)) {
      result.off.push_back(i);
    } else if (!(error <= result.largest)) {
      result.largest = error;
    }
  };
  for (std::int32_t j = 0; j < w; ++j)
    for (std::int32_t i = 0; i < w + m; ++i) compare(i, j);
  for (std::int32_t j = w; lu && j < w + m; ++j)
    for (std::int32_t i = 0; i < w; ++i) compare(i, j);
  return result;
}

}  // namespace espalier::solver::kernels
