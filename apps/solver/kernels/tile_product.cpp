// Products of tiles in either precision, and what tiles do to vectors: over 300 lines.

#include "solver/kernels/tile_product.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "espalier/model/error.h"
#include "solver/kernels/blas.h"
#include "solver/kernels/block_solve.h"
#include "solver/kernels/update.h"

namespace espalier::solver::kernels {
namespace {

// C := A B
template <class T>
void multiply(std::int32_t m, std::int32_t n, std::int32_t k, const T* a,
              std::int32_t lda, const T* b, std::int32_t ldb, T* c, std::int32_t ldc) {
  blas::gemm(CblasNoTrans, CblasNoTrans, m, n, k, T(1), a, lda, b, ldb, T(0), c, ldc);
}

template <class From, class To>
void convert(std::int32_t m, std::int32_t n, const From* a, std::int32_t lda, To* b) {
  for (std::int32_t j = 0; j < n; ++j)
    std::transform(a + std::int64_t{j} * lda, a + std::int64_t{j} * lda + m,
                   b + std::int64_t{j} * m, [](From x) { return static_cast<To>(x); });
}

template <class T>
Tile<float> single_tile(const Tile<T>& tile) {
  const std::int32_t rank = std::max(tile.rank, 0);
  return {tile.single, tile.ldu, tile.single + std::int64_t{rank} * tile.ldu, tile.ldv,
          tile.rank};
}

// A tile of m rows and k columns in another precision, in `work`: m k entries.
template <class To, class From>
Tile<To> converted(std::int32_t m, std::int32_t k, const Tile<From>& tile, To* work) {
  const bool full = tile.rank == kFullRank;
  To* const v = work + std::int64_t{m} * (full ? k : tile.rank);
  convert(m, full ? k : tile.rank, tile.u, tile.ldu, work);
  if (!full) convert(k, tile.rank, tile.v, tile.ldv, v);
  return {work, m, v, k, tile.rank};
}

// A tile in P, which it is in, or which is made of it in `work`.
template <class P, class T>
Tile<P> in_precision(std::int32_t m, std::int32_t k, const Tile<T>& tile, P* work) {
  if constexpr (std::is_same_v<P, T>) {
    return tile.single == nullptr ? tile : converted(m, k, single_tile(tile), work);
  } else {
    return tile.single != nullptr ? single_tile(tile) : converted(m, k, tile, work);
  }
}

// Entries of a tile to convert for a product in single precision, less those for one in
// double.
template <class T>
double more_to_convert(double m, double k, const Tile<T>& tile) {
  const double stored = tile.rank == kFullRank ? m * k : tile.rank * (m + k);
  return tile.single != nullptr ? -stored : stored;
}

// Flops of C - A B^T, all of C; more or less, of two tiles that are compressed.
template <class T>
double product_flops(double m, double n, const TileTerm<T>& term) {
  const double k = term.k;
  const bool a_full = term.a.rank == kFullRank, b_full = term.b.rank == kFullRank;
  if (a_full && b_full) return 2 * m * n * k;
  const double a = a_full ? k : term.a.rank, b = b_full ? k : term.b.rank;
  const double right = a_full ? m : b_full ? n : std::max(a, b);
  return 2 * std::min(a, b) * (k * right + m * n);
}

// Whether a product is made in single precision: it may be, and that is the faster.
template <class T>
bool in_single(std::int32_t m, std::int32_t n, const TileTerm<T>& term) {
  if constexpr (std::is_same_v<T, float>) return false;
  // An entry is converted while so many flops in double precision take longer than in
  // single.
  constexpr double kConversion = 24;
  const auto& [a, b, k, may_be] = term;
  if (a.single != nullptr && b.single != nullptr) return true;
  return may_be && product_flops(m, n, term) >= kConversion * (more_to_convert(m, k, a) +
                                                               more_to_convert(n, k, b));
}

/// An update C := C - X Y^T in P whose X and Y come column by column.
template <class P, class T>
class Gathered {
 public:
  /// Entries of P in scratch.
  static std::int64_t scratch(std::int64_t width) {
    return width * width * (2 * kGathered + 1 + (kIsT ? 0 : 1));
  }

  /// @param scratch  scratch(max(m, n)) entries
  /// @param other    for tiles that are in another precision: max(m, n) k entries of T
  Gathered(std::int32_t m, std::int32_t n, bool lower, T* c, std::int32_t ldc, P* scratch,
           P* other)
      : m_(m), n_(n), lower_(lower), c_(c), ldc_(ldc), other_(other) {
    const std::int64_t width = std::max(m, n);
    most_ = static_cast<std::int32_t>(kGathered * width);
    core_ = scratch;  // the product of two right factors
    x_ = core_ + width * width;
    y_ = x_ + width * most_;
    sum_ = y_ + width * most_;
  }

  void add(const TileTerm<T>& term) {
    const std::int32_t k = term.k;
    // Of two in single precision none is another than P: `other_` has room for two of
    // those, and for one in T.
    const Tile<P> a = in_precision<P>(m_, k, term.a, other_);
    const Tile<P> b =
        in_precision<P>(n_, k, term.b, other_ + (kIsT ? 0 : std::int64_t{m_} * k));
    if (a.rank == kFullRank && b.rank == kFullRank)
      return update(a.u, a.ldu, b.u, b.ldu, k);
    const std::int32_t rank = a.rank == kFullRank   ? b.rank
                              : b.rank == kFullRank ? a.rank
                                                    : std::min(a.rank, b.rank);
    if (used_ + rank > most_) flush();
    P* const x = x_ + std::int64_t{used_} * m_;
    P* const y = y_ + std::int64_t{used_} * n_;
    if (a.rank == kFullRank) {
      multiply(m_, rank, k, a.u, a.ldu, b.v, b.ldv, x, m_);
      convert(n_, rank, b.u, b.ldu, y);
      flops_ += 2.0 * m_ * rank * k;
    } else if (b.rank == kFullRank) {
      convert(m_, rank, a.u, a.ldu, x);
      multiply(n_, rank, k, b.u, b.ldu, a.v, a.ldv, y, n_);
      flops_ += 2.0 * n_ * rank * k;
    } else {
      add_product(a, b, k, x, y);
    }
    used_ += rank;
  }

  void flush() {
    if (used_ > 0) update(x_, m_, y_, n_, used_);
    used_ = 0;
  }

  [[nodiscard]] double flops() const { return flops_; }

 private:
  static constexpr std::int64_t kGathered = 3;  // widths of columns beside each other
  static constexpr bool kIsT = std::is_same_v<P, T>;

  // U_a (V_a^T V_b) U_b^T, the core on the side of the larger rank.
  void add_product(const Tile<P>& a, const Tile<P>& b, std::int32_t k, P* x, P* y) {
    blas::gemm(CblasTrans, CblasNoTrans, a.rank, b.rank, k, P(1), a.v, a.ldv, b.v, b.ldv,
               P(0), core_, a.rank);
    const double square = 2.0 * a.rank * b.rank;
    if (b.rank <= a.rank) {
      multiply(m_, b.rank, a.rank, a.u, a.ldu, core_, a.rank, x, m_);
      convert(n_, b.rank, b.u, b.ldu, y);
      flops_ += square * (k + m_);
    } else {
      convert(m_, a.rank, a.u, a.ldu, x);
      blas::gemm(CblasNoTrans, CblasTrans, n_, a.rank, b.rank, P(1), b.u, b.ldu, core_,
                 a.rank, P(0), y, n_);
      flops_ += square * (k + n_);
    }
  }

  void update(const P* a, std::int32_t lda, const P* b, std::int32_t ldb,
              std::int32_t k) {
    if constexpr (kIsT) {
      subtract(a, lda, b, ldb, k, c_, ldc_);
    } else {
      std::fill_n(sum_, std::int64_t{m_} * n_, P{0});
      subtract(a, lda, b, ldb, k, sum_, m_);
      for (std::int32_t j = 0; j < n_; ++j) {
        const std::int32_t begin = lower_ ? j : 0;
        const P* const from = sum_ + std::int64_t{j} * m_;
        T* const to = c_ + std::int64_t{j} * ldc_;
        for (std::int32_t i = begin; i < m_; ++i) to[i] += from[i];
      }
    }
    flops_ += (lower_ ? 2.0 * m_ - n_ : 2.0 * m_) * n_ * k;
  }
  void subtract(const P* a, std::int32_t lda, const P* b, std::int32_t ldb,
                std::int32_t k, P* c, std::int32_t ldc) const {
    if (lower_)
      update_lower_product(m_, n_, k, a, lda, b, ldb, c, ldc);
    else
      update_general(m_, n_, k, a, lda, b, ldb, c, ldc);
  }

  std::int32_t m_, n_;
  bool lower_;
  T* c_;
  std::int32_t ldc_, most_ = 0, used_ = 0;
  P *other_, *core_, *x_, *y_, *sum_;
  double flops_ = 0;
};

// Calls use(columns, leading dimension, first, count) for the columns of a factor of a
// tile, in T: for some at a time where they are in single precision.
template <class T, class Use>
void for_columns(std::int32_t rows, std::int32_t columns, const T* own,
                 const float* single, std::int32_t leading, const Use& use) {
  if (single == nullptr) return use(own, leading, 0, columns);
  constexpr std::int32_t kAtOnce = 32;
  std::vector<T> wide(static_cast<std::size_t>(rows) * std::min(columns, kAtOnce));
  for (std::int32_t first = 0; first < columns; first += kAtOnce) {
    const std::int32_t count = std::min(kAtOnce, columns - first);
    convert(rows, count, single + std::int64_t{first} * leading, leading, wide.data());
    use(static_cast<const T*>(wide.data()), rows, first, count);
  }
}

// y := y - A x for a tile in full; x is k x nrhs.
template <class T>
void apply_full(std::int32_t m, std::int32_t k, const Tile<T>& tile, std::int32_t nrhs,
                const T* x, std::int32_t ldx, T* y, std::int32_t ldy) {
  for_columns(m, k, tile.u, tile.single, tile.ldu,
              [&](const T* a, std::int32_t lda, std::int32_t first, std::int32_t count) {
                apply_below(m, count, a, lda, nrhs, x + first, ldx, y, ldy);
              });
}

// z := z - A^T y, likewise; z is k x nrhs.
template <class T>
void apply_full_transposed(std::int32_t m, std::int32_t k, const Tile<T>& tile,
                           std::int32_t nrhs, const T* y, std::int32_t ldy, T* z,
                           std::int32_t ldz) {
  for_columns(m, k, tile.u, tile.single, tile.ldu,
              [&](const T* a, std::int32_t lda, std::int32_t first, std::int32_t count) {
                apply_below_transposed(m, count, a, lda, nrhs, y, ldy, z + first, ldz);
              });
}

// U and V of a compressed tile, each as a tile in full.
template <class T>
std::pair<Tile<T>, Tile<T>> factors(const Tile<T>& tile) {
  const float* const v = tile.single != nullptr ? single_tile(tile).v : nullptr;
  return {{tile.u, tile.ldu, nullptr, 0, kFullRank, tile.single},
          {tile.v, tile.ldv, nullptr, 0, kFullRank, v}};
}

// y := y - U V^T x, and z of as many columns as there are ranks.
template <class T>
void apply_factors(std::int32_t m, std::int32_t k, std::int32_t rank, const Tile<T>& u,
                   const Tile<T>& v, std::int32_t nrhs, const T* x, std::int32_t ldx,
                   T* y, std::int32_t ldy) {
  if (rank == 0) return;
  std::vector<T> middle(static_cast<std::size_t>(rank) * nrhs, T{0});
  // What is subtracted from zero is subtracted once more.
  apply_full_transposed(k, rank, v, nrhs, x, ldx, middle.data(), rank);
  for (T& value : middle) value = -value;
  apply_full(m, rank, u, nrhs, middle.data(), rank, y, ldy);
}

}  // namespace

// Columns in either precision, and between them a tile in the other one.
std::int64_t update_scratch(std::int64_t width) {
  const std::int64_t single = Gathered<float, double>::scratch(width);
  return Gathered<double, double>::scratch(width) + width * width + (single + 1) / 2;
}

template <class T>
double update_by_tiles(std::int32_t m, std::int32_t n, std::span<const TileTerm<T>> terms,
                       bool lower, T* c, std::int32_t ldc,
                       std::span<std::type_identity_t<T>> scratch) {
  std::int32_t width = std::max(m, n);
  for (const TileTerm<T>& term : terms) width = std::max(width, term.k);
  ESPALIER_ASSERT(std::int64_t(scratch.size()) >= update_scratch(width),
                  "scratch is short");
  T* const other = scratch.data() + Gathered<T, T>::scratch(width);
  auto* const single = reinterpret_cast<float*>(other + std::int64_t{width} * width);
  Gathered<T, T> own(m, n, lower, c, ldc, scratch.data(), other);
  Gathered<float, T> rounded(m, n, lower, c, ldc, single,
                             reinterpret_cast<float*>(other));
  for (const TileTerm<T>& term : terms) {
    if (term.a.rank == 0 || term.b.rank == 0) continue;
    if (in_single(m, n, term))
      rounded.add(term);
    else
      own.add(term);
  }
  own.flush();
  rounded.flush();
  return own.flops() + rounded.flops();
}

template <class T>
void expand_tile(std::int32_t m, std::int32_t n, const Tile<T>& tile, std::int32_t first,
                 T* c) {
  if (tile.rank == kFullRank) {
    const std::int64_t at = std::int64_t{first} * tile.ldu;
    if (tile.single != nullptr)
      convert(m, n, tile.single + at, tile.ldu, c);
    else
      convert(m, n, tile.u + at, tile.ldu, c);
    return;
  }
  if (tile.single == nullptr) {
    blas::gemm(CblasNoTrans, CblasTrans, m, n, tile.rank, T(1), tile.u, tile.ldu,
               tile.v + first, tile.ldv, T(0), c, m);
    return;
  }
  const Tile<float> single = single_tile(tile);
  std::vector<float> product(static_cast<std::size_t>(m) * n);
  blas::gemm(CblasNoTrans, CblasTrans, m, n, tile.rank, 1.0F, single.u, single.ldu,
             single.v + first, single.ldv, 0.0F, product.data(), m);
  std::ranges::copy(product, c);
}

template <class T>
void apply_tile(std::int32_t m, std::int32_t k, const Tile<T>& tile, std::int32_t nrhs,
                const T* x, std::int32_t ldx, T* y, std::int32_t ldy) {
  if (tile.rank == kFullRank) return apply_full(m, k, tile, nrhs, x, ldx, y, ldy);
  const auto [u, v] = factors(tile);
  apply_factors(m, k, tile.rank, u, v, nrhs, x, ldx, y, ldy);
}

template <class T>
void apply_tile_transposed(std::int32_t m, std::int32_t k, const Tile<T>& tile,
                           std::int32_t nrhs, const T* y, std::int32_t ldy, T* x,
                           std::int32_t ldx) {
  if (tile.rank == kFullRank)
    return apply_full_transposed(m, k, tile, nrhs, y, ldy, x, ldx);
  const auto [u, v] = factors(tile);
  apply_factors(k, m, tile.rank, v, u, nrhs, y, ldy, x, ldx);
}

#define ESPALIER_INSTANTIATE(T)                                                         \
  template double update_by_tiles(std::int32_t, std::int32_t,                           \
                                  std::span<const TileTerm<T>>, bool, T*, std::int32_t, \
                                  std::span<T>);                                        \
  template void expand_tile(std::int32_t, std::int32_t, const Tile<T>&, std::int32_t,   \
                            T*);                                                        \
  template void apply_tile(std::int32_t, std::int32_t, const Tile<T>&, std::int32_t,    \
                           const T*, std::int32_t, T*, std::int32_t);                   \
  template void apply_tile_transposed(std::int32_t, std::int32_t, const Tile<T>&,       \
                                      std::int32_t, const T*, std::int32_t, T*,         \
                                      std::int32_t);
ESPALIER_INSTANTIATE(double)
ESPALIER_INSTANTIATE(float)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver::kernels
