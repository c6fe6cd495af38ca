#include "solver/kernels/tile_product.h"

#include <algorithm>
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

template <class T>
void copy(std::int32_t m, std::int32_t n, const T* a, std::int32_t lda, T* b) {
  for (std::int32_t j = 0; j < n; ++j)
    std::copy_n(a + std::int64_t{j} * lda, m, b + std::int64_t{j} * m);
}

/// An update C := C - X Y^T whose X and Y come column by column.
template <class T>
class Gathered {
 public:
  Gathered(std::int32_t m, std::int32_t n, bool lower, T* c, std::int32_t ldc,
           std::span<T> scratch)
      : m_(m), n_(n), lower_(lower), c_(c), ldc_(ldc) {
    const std::int64_t width = std::max(m, n);
    // The product of two right factors has at most width x width entries.
    most_ = static_cast<std::int32_t>((std::int64_t(scratch.size()) - width * width) /
                                      (2 * width));
    ESPALIER_ASSERT(most_ >= width, "scratch is short");
    core_ = scratch.data();
    x_ = core_ + width * width;
    y_ = x_ + width * most_;
  }

  void add(const TileTerm<T>& term) {
    const auto& [a, b, k] = term;
    if (a.rank == 0 || b.rank == 0) return;
    if (a.rank == kFullRank && b.rank == kFullRank) return update(a, b, k);
    const std::int32_t rank = a.rank == kFullRank   ? b.rank
                              : b.rank == kFullRank ? a.rank
                                                    : std::min(a.rank, b.rank);
    if (used_ + rank > most_) flush();
    T* const x = x_ + std::int64_t{used_} * m_;
    T* const y = y_ + std::int64_t{used_} * n_;
    if (a.rank == kFullRank) {
      multiply(m_, rank, k, a.u, a.ldu, b.v, b.ldv, x, m_);
      copy(n_, rank, b.u, b.ldu, y);
      flops_ += 2.0 * m_ * rank * k;
    } else if (b.rank == kFullRank) {
      copy(m_, rank, a.u, a.ldu, x);
      multiply(n_, rank, k, b.u, b.ldu, a.v, a.ldv, y, n_);
      flops_ += 2.0 * n_ * rank * k;
    } else {
      add_product(a, b, k, x, y);
    }
    used_ += rank;
  }

  void flush() {
    update(x_, m_, y_, n_, used_);
    used_ = 0;
  }

  [[nodiscard]] double flops() const { return flops_; }

 private:
  // U_a (V_a^T V_b) U_b^T, the core on the side of the larger rank.
  void add_product(const Tile<T>& a, const Tile<T>& b, std::int32_t k, T* x, T* y) {
    blas::gemm(CblasTrans, CblasNoTrans, a.rank, b.rank, k, T(1), a.v, a.ldv, b.v, b.ldv,
               T(0), core_, a.rank);
    const double square = 2.0 * a.rank * b.rank;
    if (b.rank <= a.rank) {
      multiply(m_, b.rank, a.rank, a.u, a.ldu, core_, a.rank, x, m_);
      copy(n_, b.rank, b.u, b.ldu, y);
      flops_ += square * (k + m_);
    } else {
      copy(m_, a.rank, a.u, a.ldu, x);
      blas::gemm(CblasNoTrans, CblasTrans, n_, a.rank, b.rank, T(1), b.u, b.ldu, core_,
                 a.rank, T(0), y, n_);
      flops_ += square * (k + n_);
    }
  }

  void update(const Tile<T>& a, const Tile<T>& b, std::int32_t k) {
    update(a.u, a.ldu, b.u, b.ldu, k);
  }

  void update(const T* a, std::int32_t lda, const T* b, std::int32_t ldb,
              std::int32_t k) {
    if (lower_)
      update_lower_product(m_, n_, k, a, lda, b, ldb, c_, ldc_);
    else
      update_general(m_, n_, k, a, lda, b, ldb, c_, ldc_);
    flops_ += (lower_ ? 2.0 * m_ - n_ : 2.0 * m_) * n_ * k;
  }

  std::int32_t m_, n_;
  bool lower_;
  T* c_;
  std::int32_t ldc_, most_ = 0, used_ = 0;
  T *core_, *x_, *y_;
  double flops_ = 0;
};

}  // namespace

template <class T>
double update_by_tiles(std::int32_t m, std::int32_t n, std::span<const TileTerm<T>> terms,
                       bool lower, T* c, std::int32_t ldc,
                       std::span<std::type_identity_t<T>> scratch) {
  Gathered<T> gathered(m, n, lower, c, ldc, scratch);
  for (const TileTerm<T>& term : terms) gathered.add(term);
  gathered.flush();
  return gathered.flops();
}

template <class T>
void expand_tile(std::int32_t m, std::int32_t n, const Tile<T>& tile, std::int32_t first,
                 T* c) {
  blas::gemm(CblasNoTrans, CblasTrans, m, n, tile.rank, T(1), tile.u, tile.ldu,
             tile.v + first, tile.ldv, T(0), c, m);
}

template <class T>
void apply_tile(std::int32_t m, std::int32_t k, const Tile<T>& tile, std::int32_t nrhs,
                const T* x, std::int32_t ldx, T* y, std::int32_t ldy) {
  if (tile.rank == kFullRank)
    return apply_below(m, k, tile.u, tile.ldu, nrhs, x, ldx, y, ldy);
  if (tile.rank == 0) return;
  std::vector<T> middle(static_cast<std::size_t>(tile.rank) * nrhs, T{0});
  // What is subtracted from zero is subtracted once more.
  apply_below_transposed(k, tile.rank, tile.v, tile.ldv, nrhs, x, ldx, middle.data(),
                         tile.rank);
  for (T& value : middle) value = -value;
  apply_below(m, tile.rank, tile.u, tile.ldu, nrhs, middle.data(), tile.rank, y, ldy);
}

template <class T>
void apply_tile_transposed(std::int32_t m, std::int32_t k, const Tile<T>& tile,
                           std::int32_t nrhs, const T* y, std::int32_t ldy, T* x,
                           std::int32_t ldx) {
  if (tile.rank == kFullRank)
    return apply_below_transposed(m, k, tile.u, tile.ldu, nrhs, y, ldy, x, ldx);
  const Tile<T> turned{tile.v, tile.ldv, tile.u, tile.ldu, tile.rank};
  apply_tile(k, m, turned, nrhs, y, ldy, x, ldx);
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
