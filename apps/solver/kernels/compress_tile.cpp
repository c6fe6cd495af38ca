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

constexpr std::int32_t kLanes = 16;  // sums of their own, so that they are vectors

template <class T>
T total(const std::array<T, kLanes>& sums) {
  T result = 0;
  for (const T sum : sums) result += sum;
  return result;
}

template <class T>
ESPALIER_MULTIVERSION T square_norm(std::int32_t n, const T* x) {
  std::array<T, kLanes> sums{};
  std::int32_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::int32_t l = 0; l < kLanes; ++l) sums[l] += x[i + l] * x[i + l];
  for (; i < n; ++i) sums[0] += x[i] * x[i];
  return total(sums);
}

// x := x - tau v (v^T x) for v with a first entry of 1, which is not read. @return the
// square of the norm of x without its first entry: summed, not what is left of another
// sum
template <class T>
ESPALIER_MULTIVERSION T reflect(std::int32_t n, T tau, const T* v, T* x) {
  std::array<T, kLanes> sums{};
  std::int32_t i = 1;
  for (; i + kLanes <= n; i += kLanes)
    for (std::int32_t l = 0; l < kLanes; ++l) sums[l] += v[i + l] * x[i + l];
  for (; i < n; ++i) sums[0] += v[i] * x[i];
  const T factor = tau * (x[0] + total(sums));
  x[0] -= factor;
  sums.fill(0);
  for (i = 1; i + kLanes <= n; i += kLanes)
    for (std::int32_t l = 0; l < kLanes; ++l) {
      const T value = x[i + l] - factor * v[i + l];
      x[i + l] = value;
      sums[l] += value * value;
    }
  for (; i < n; ++i) {
    x[i] -= factor * v[i];
    sums[0] += x[i] * x[i];
  }
  return total(sums);
}

// Whether a rest that fell from `all` in `rank` steps will be above `most` at the limit:
// what is left falls more slowly than what went before. A guess that only costs memory.
constexpr std::int32_t kLook = 8;
bool hopeless(double all, double rest, double most, std::int32_t rank,
              std::int32_t limit) {
  return std::log(rest / most) * rank > std::log(all / rest) * (limit - rank);
}

/// Householder QR with column pivoting of a copy of a tile, column by column.
template <class T>
class PivotedQr {
 public:
  template <class From>
  PivotedQr(std::int32_t m, std::int32_t n, const From* a, std::int32_t lda, T* scratch)
      : m_(m), n_(n), w_(scratch), tau_(scratch + std::int64_t{m} * n), norm_(tau_ + n) {
    for (std::int32_t j = 0; j < n; ++j) {
      const From* const from = a + std::int64_t{j} * lda;
      std::transform(from, from + m, column(j), [](From x) { return static_cast<T>(x); });
      norm_[j] = square_norm(m, column(j));
    }
    std::iota(place_.begin(), place_.begin() + n, 0);
  }

  // The square of what is left after `rank` columns.
  [[nodiscard]] double rest(std::int32_t rank) const {
    return std::accumulate(norm_ + rank, norm_ + n_, 0.0);
  }

  // Takes column number k: the longest that is left.
  void step(std::int32_t k) {
    const auto best =
        static_cast<std::int32_t>(std::max_element(norm_ + k, norm_ + n_) - norm_);
    if (best != k) {
      std::swap_ranges(column(k), column(k) + m_, column(best));
      std::swap(norm_[k], norm_[best]);
      std::swap(place_[k], place_[best]);
    }
    T* const v = column(k) + k;
    const T length = std::sqrt(square_norm(m_ - k, v)), alpha = v[0];
    const T beta = alpha > 0 ? -length : length;
    tau_[k] = beta != 0 ? (beta - alpha) / beta : T{0};
    if (beta != 0)
      for (std::int32_t i = 1; i < m_ - k; ++i) v[i] /= alpha - beta;
    v[0] = beta;
    for (std::int32_t j = k + 1; j < n_; ++j)
      norm_[j] = reflect(m_ - k, tau_[k], v, column(j) + k);
  }

  // The tile becomes U, then V. Columns behind the first `rank` have U at the end.
  template <class To>
  void write(std::int32_t rank, To* a, std::int32_t lda) {
    To* const v = a + std::int64_t{rank} * lda;
    for (std::int32_t k = 0; k < rank; ++k) {
      To* const to = v + std::int64_t{k} * lda;
      std::fill_n(to, n_, To{0});
      for (std::int32_t j = k; j < n_; ++j) to[place_[j]] = column(j)[k];
    }
    for (std::int32_t k = 0; k < rank; ++k) {
      std::fill_n(column(rank + k), m_, T{0});
      column(rank + k)[k] = 1;
    }
    for (std::int32_t k = rank - 1; k >= 0; --k)
      for (std::int32_t j = k; j < rank; ++j)
        static_cast<void>(reflect(m_ - k, tau_[k], column(k) + k, column(rank + j) + k));
    for (std::int32_t k = 0; k < rank; ++k)
      std::copy_n(column(rank + k), m_, a + std::int64_t{k} * lda);
  }

 private:
  [[nodiscard]] T* column(std::int32_t j) const { return w_ + std::int64_t{j} * m_; }

  std::int32_t m_, n_;
  T *w_, *tau_, *norm_;  // norm: squares, of what is left of each column
  std::array<std::int32_t, kMostTileColumns> place_;
};

// Of rank r a tile takes r (m + n) entries, and is written in 2 r columns.
std::int32_t most_ranks(std::int32_t m, std::int32_t n) {
  return static_cast<std::int32_t>(
      std::min<std::int64_t>(n / 2, std::int64_t{m} * n / (m + n)));
}

// What rounding to single precision loses of a tile, or of its factors, at most.
double rounding(std::int32_t rank, double square) {
  constexpr double kRounding = 0x1p-24;
  return kRounding * (rank == kFullRank ? 1 : 1 + std::sqrt(rank)) * std::sqrt(square);
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
  if (vanish &&
      !std::all_of(scratch, scratch + std::int64_t{m} * n, [](P x) { return x == 0; }))
    return kFullRank;
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
  const double square = square_norm(m, n, a, lda);
  const bool tries = m >= n && n <= kMostTileColumns;
  if (tries && rounding(most_ranks(m, n), square) <= tolerance)
    return {compress(m, n, a, lda, tolerance, reinterpret_cast<float*>(scratch.data())),
            true};
  const std::int32_t rank = compress_tile<double>(m, n, a, lda, tolerance, scratch);
  // U has orthonormal columns, V the norm.
  return {rank, rounding(rank, square) <= tolerance};
}

template std::int32_t compress_tile(std::int32_t, std::int32_t, double*, std::int32_t,
                                    double, std::span<double>);
template std::int32_t compress_tile(std::int32_t, std::int32_t, float*, std::int32_t,
                                    double, std::span<float>);

}  // namespace espalier::solver::kernels
