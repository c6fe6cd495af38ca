#include "solver/kernels/compress_tile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "espalier/model/error.h"
#include "solver/matrix/multiversion.h"

namespace espalier::solver::kernels {
namespace {

// Entries of a column, wherever they begin, as a vector that all processors bear.
template <class T>
struct Vector {
  using Type [[gnu::vector_size(32), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
};
template <class T>
constexpr std::int32_t kLanes = 64 / sizeof(T);  // two of them

// Rows of a column that are stored: whole vectors.
template <class T>
std::int32_t stored_rows(std::int32_t m) {
  return (m + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
}

template <class T>
[[gnu::always_inline]] inline T total(const typename Vector<T>::Type& sums) {
  T result = 0;
  for (std::int32_t l = 0; l < kLanes<T> / 2; ++l) result += sums[l];
  return result;
}

template <class T>
ESPALIER_MULTIVERSION T square_norm(std::int32_t n, const T* x) {
  using V = typename Vector<T>::Type;
  V first{}, second{};
  std::int32_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
    const V* const entries = reinterpret_cast<const V*>(x + i);
    first += entries[0] * entries[0];
    second += entries[1] * entries[1];
  }
  T rest = 0;
  for (; i < n; ++i) rest += x[i] * x[i];
  first += second;
  return rest + total<T>(first);
}

/// The reflection I - tau v v^T of columns that stand `next` entries apart, in the last
/// `rows` that are stored of them: whole vectors, so that v may begin with zeros.
template <class T>
struct Reflection {
  std::int32_t rows, next;
  T tau;
  const T* v;
};

// Of columns beside each other: x := x - tau v (v^T x). Where kTakes says so v is 1 in
// row `at`; that row of x goes to `taken` and becomes 0, and `norm` the square of what is
// left: summed, not what is left of another sum.
template <int kColumns, bool kTakes, class T>
[[gnu::always_inline]] inline void reflect_beside(const Reflection<T>& by, T* x,
                                                  std::int32_t at, T* taken, T* norm) {
  const std::int64_t next = by.next;
  const std::int32_t rows = by.rows;  // stores may be to anything, `by` for instance
  const T* const v = by.v;
  using V = typename Vector<T>::Type;
  V sums[kColumns] = {}, others[kColumns] = {};
  for (std::int32_t i = 0; i < rows; i += kLanes<T>) {
    const V* const here = reinterpret_cast<const V*>(v + i);
    const V upper = here[0], lower = here[1];
    for (int q = 0; q < kColumns; ++q) {
      const V* const entries = reinterpret_cast<const V*>(x + q * next + i);
      sums[q] += upper * entries[0];
      others[q] += lower * entries[1];
    }
  }
  T factor[kColumns];
  for (int q = 0; q < kColumns; ++q) {
    sums[q] += others[q];
    factor[q] = by.tau * total<T>(sums[q]);
    if constexpr (kTakes) {
      T& entry = x[q * next + at];
      taken[q] = entry - factor[q];
      entry = factor[q];
      sums[q] = V{};
    }
  }
  for (std::int32_t i = 0; i < rows; i += kLanes<T> / 2) {
    const V here = reinterpret_cast<const V&>(v[i]);
    for (int q = 0; q < kColumns; ++q) {
      V& entries = reinterpret_cast<V&>(x[q * next + i]);
      const V value = entries - factor[q] * here;
      entries = value;
      if constexpr (kTakes) sums[q] += value * value;
    }
  }
  if constexpr (kTakes)
    for (int q = 0; q < kColumns; ++q) norm[q] = total<T>(sums[q]);
}

template <bool kTakes, class T>
ESPALIER_MULTIVERSION void reflect(const Reflection<T>& by, std::int32_t columns, T* x,
                                   std::int32_t at, T* taken, T* norm) {
  constexpr int kBeside = 4;
  std::int32_t j = 0;
  for (; j + kBeside <= columns; j += kBeside)
    reflect_beside<kBeside, kTakes>(by, x + std::int64_t{j} * by.next, at, taken + j,
                                    norm + j);
  for (; j < columns; ++j)
    reflect_beside<1, kTakes>(by, x + std::int64_t{j} * by.next, at, taken + j, norm + j);
}

// Of rank r a tile takes r (m + n) entries, and is written in 2 r columns.
std::int32_t most_ranks(std::int32_t m, std::int32_t n) {
  return static_cast<std::int32_t>(
      std::min<std::int64_t>(n / 2, std::int64_t{m} * n / (m + n)));
}

// Whether a rest that fell from `all` in `rank` steps will be above `most` at the limit:
// what is left falls more slowly than what went before. A guess that only costs memory.
constexpr std::int32_t kLook = 8;
bool hopeless(double all, double rest, double most, std::int32_t rank,
              std::int32_t limit) {
  return std::log(rest / most) * rank > std::log(all / rest) * (limit - rank);
}

/// Householder QR with column pivoting of a copy of a tile, column by column. A row of R
/// goes to V when it is known, so that columns have zeros above what is left of them.
template <class T>
class PivotedQr {
 public:
  template <class From>
  PivotedQr(std::int32_t m, std::int32_t n, const From* a, std::int32_t lda, T* scratch)
      : m_(m),
        n_(n),
        next_(stored_rows<T>(m)),
        w_(scratch),
        v_(w_ + std::int64_t{next_} * n),
        tau_(v_ + std::int64_t{n} * most_ranks(m, n)),
        norm_(tau_ + n),
        taken_(norm_ + n) {
    for (std::int32_t j = 0; j < n; ++j) {
      const From* const from = a + std::int64_t{j} * lda;
      T* const to = column(j);
      std::transform(from, from + m, to, [](From x) { return static_cast<T>(x); });
      std::fill(to + m, to + next_, T{0});
      norm_[j] = square_norm(m, to);
    }
    std::iota(place_.begin(), place_.begin() + n, 0);
  }

  // The square of what is left after `rank` columns.
  [[nodiscard]] double rest(std::int32_t rank) const {
    return std::accumulate(norm_ + rank, norm_ + n_, 0.0);
  }

  // Of the copy, before the first step.
  [[nodiscard]] bool is_zero() const {
    return std::all_of(w_, w_ + std::int64_t{next_} * n_, [](T x) { return x == 0; });
  }

  // Takes column number k: the longest that is left, which is not 0.
  void step(std::int32_t k) {
    const auto best =
        static_cast<std::int32_t>(std::max_element(norm_ + k, norm_ + n_) - norm_);
    if (best != k) {
      std::swap_ranges(column(k), column(k) + next_, column(best));
      std::swap(norm_[k], norm_[best]);
      std::swap(place_[k], place_[best]);
    }
    T* const v = column(k);
    const T length = std::sqrt(norm_[k]), alpha = v[k];
    const T beta = alpha > 0 ? -length : length;
    tau_[k] = (beta - alpha) / beta;
    for (std::int32_t i = k + 1; i < m_; ++i) v[i] /= alpha - beta;
    v[k] = 1;
    const Reflection<T> by = reflection(k);
    reflect<true>(by, n_ - k - 1, column(k + 1) + next_ - by.rows, k - next_ + by.rows,
                  taken_ + k + 1, norm_ + k + 1);
    T* const row = v_ + std::int64_t{k} * n_;
    std::fill_n(row, n_, T{0});
    row[place_[k]] = beta;
    for (std::int32_t j = k + 1; j < n_; ++j) row[place_[j]] = taken_[j];
  }

  // The tile becomes U, then V. Columns behind the first `rank` have U at the end.
  template <class To>
  void write(std::int32_t rank, To* a, std::int32_t lda) {
    for (std::int32_t k = 0; k < rank; ++k) {
      std::copy_n(v_ + std::int64_t{k} * n_, n_, a + std::int64_t{rank + k} * lda);
      std::fill_n(column(rank + k), next_, T{0});
      column(rank + k)[k] = 1;
    }
    for (std::int32_t k = rank - 1; k >= 0; --k) {
      const Reflection<T> by = reflection(k);
      reflect<false, T>(by, rank - k, column(rank + k) + next_ - by.rows, 0, nullptr,
                        nullptr);
    }
    for (std::int32_t k = 0; k < rank; ++k)
      std::copy_n(column(rank + k), m_, a + std::int64_t{k} * lda);
  }

 private:
  [[nodiscard]] T* column(std::int32_t j) const { return w_ + std::int64_t{j} * next_; }
  // That of step k: rows before the vector that has row k are done.
  [[nodiscard]] Reflection<T> reflection(std::int32_t k) const {
    const std::int32_t first = k / kLanes<T> * kLanes<T>;
    return {next_ - first, next_, tau_[k], column(k) + first};
  }

  std::int32_t m_, n_, next_;
  T *w_, *v_, *tau_, *norm_, *taken_;  // norm: squares, of what is left of each column
  std::array<std::int32_t, kMostTileColumns> place_;
};

// What rounding to single precision loses of a tile, or of its factors, at most.
double rounding(std::int32_t rank, double norm) {
  return kSingleRounding * (rank == kFullRank ? 1 : 1 + std::sqrt(rank)) * norm;
}

// The square of the Frobenius norm.
double square_norm(std::int32_t m, std::int32_t n, const double* a, std::int32_t lda) {
  double sum = 0;
  for (std::int32_t j = 0; j < n; ++j) sum += square_norm(m, a + std::int64_t{j} * lda);
  return sum;
}

// compress_tile() in P.
template <class P, class T>
std::int32_t compress(std::int32_t m, std::int32_t n, T* a, std::int32_t lda,
                      double tolerance, P* scratch) {
  PivotedQr<P> qr(m, n, a, lda, scratch);
  const double all = qr.rest(0), most = tolerance * tolerance;
  // Squares that vanish, or that may: nothing is known of what they stand for.
  const bool vanish =
      most < std::numeric_limits<P>::min() / std::numeric_limits<P>::epsilon();
  if (!std::isfinite(all) || (vanish && all > 0)) return kFullRank;
  if (vanish && !qr.is_zero()) return kFullRank;
  std::int32_t rank = 0;
  const std::int32_t limit = most_ranks(m, n);
  for (double rest = all; rest > most; rest = qr.rest(rank)) {
    if (rank == limit ||
        (rank % kLook == kLook - 1 && hopeless(all, rest, most, rank, limit)))
      return kFullRank;
    qr.step(rank++);
  }
  qr.write(rank, a, lda);
  return rank;
}

}  // namespace

template <class T>
std::int32_t compress_tile(std::int32_t m, std::int32_t n, T* a, std::int32_t lda,
                           double tolerance, std::span<std::type_identity_t<T>> scratch) {
  ESPALIER_ASSERT(std::int64_t(scratch.size()) >= compress_scratch(m, n),
                  "scratch is short");
  if (m < n || n > kMostTileColumns) return kFullRank;
  return compress(m, n, a, lda, tolerance, scratch.data());
}

RoundedTile compress_and_round_tile(std::int32_t m, std::int32_t n, double* a,
                                    std::int32_t lda, double tolerance,
                                    std::span<double> scratch) {
  const double norm = std::sqrt(square_norm(m, n, a, lda));
  const bool tries = m >= n && n <= kMostTileColumns;
  if (tries && rounding(most_ranks(m, n), norm) <= tolerance)
    return {compress(m, n, a, lda, tolerance, reinterpret_cast<float*>(scratch.data())),
            true, norm};
  const std::int32_t rank = compress_tile<double>(m, n, a, lda, tolerance, scratch);
  // U has orthonormal columns, V the norm.
  return {rank, rounding(rank, norm) <= tolerance, norm};
}

template std::int32_t compress_tile(std::int32_t, std::int32_t, double*, std::int32_t,
                                    double, std::span<double>);
template std::int32_t compress_tile(std::int32_t, std::int32_t, float*, std::int32_t,
                                    double, std::span<float>);

}  // namespace espalier::solver::kernels
