#include "solver/kernels/update.h"

#include <type_traits>

#include "espalier/model/error.h"
#include "solver/kernels/blas.h"
#include "solver/kernels/lower_product.h"
#include "solver/kernels/unroll.h"
#include "solver/matrix/multiversion.h"

namespace espalier::solver::kernels {
namespace {

constexpr std::int64_t kLoopUpdate = 4096;  // m n k up to which loops beat calls
constexpr std::int32_t kTile = 32;          // order of diagonal tiles computed in full

// So many columns of A and B: column[i] for i >= from loses a[i] times their entries in
// row 0 of b.
template <int kCount, class T>
[[gnu::always_inline]] inline void subtract_columns(std::int32_t from, std::int32_t m,
                                                    const T* a, std::int64_t lda,
                                                    const T* b, std::int64_t ldb,
                                                    T* column) {
  T factor[kCount];
  for (int q = 0; q < kCount; ++q) factor[q] = across(b[q * ldb]);
#pragma GCC ivdep
  for (std::int32_t i = from; i < m; ++i) {
    T value = column[i];
    for (int q = 0; q < kCount; ++q) value -= factor[q] * a[i + q * lda];
    column[i] = value;
  }
}

// C -= A B^T where j <= i, or everywhere. Few rows mostly: whether C overlaps A, which it
// does not, would cost as much to find out as the rest.
template <class T, bool kLower>
ESPALIER_MULTIVERSION void product_loops(std::int32_t m, std::int32_t n, std::int32_t k,
                                         const T* a, std::int32_t lda, const T* b,
                                         std::int32_t ldb, T* c, std::int32_t ldc) {
  constexpr std::int32_t kAtOnce = 4;
  for (; k > kUnrolled; k -= kAtOnce) {
    for (std::int32_t j = 0; j < n; ++j)
      subtract_columns<kAtOnce>(kLower ? j : 0, m, a, lda, b + j, ldb,
                                c + std::int64_t{j} * ldc);
    a += kAtOnce * std::int64_t{lda};
    b += kAtOnce * std::int64_t{ldb};
  }
  unroll(
      k, [&]<int kCount>() __attribute__((always_inline)) {
        for (std::int32_t j = 0; j < n; ++j)
          subtract_columns<kCount>(kLower ? j : 0, m, a, lda, b + j, ldb,
                                   c + std::int64_t{j} * ldc);
      });
}

template <class T>
void subtract_product(std::int32_t m, std::int32_t n, std::int32_t k, const T* a,
                      std::int32_t lda, const T* b, std::int32_t ldb, T* c,
                      std::int32_t ldc) {
  blas::gemm(CblasNoTrans, blas::kAcross<T>, m, n, k, T(-1), a, lda, b, ldb, T(1), c,
             ldc);
}

// @return false: it is to be done otherwise
template <class T>
bool by_vectors(std::int32_t m, std::int32_t n, std::int32_t k, const T* a,
                std::int32_t lda, const T* b, std::int32_t ldb, T* c, std::int32_t ldc) {
  if constexpr (std::is_same_v<T, double>)
    return m <= kVectorRows && subtract_lower_product(m, n, k, a, lda, b, ldb, c, ldc);
  else
    return false;
}

// Lower triangle of the n x n C -= A B^T: halves down to tiles, which go through a
// buffer.
template <class T>
void subtract_triangle(std::int32_t n, std::int32_t k, const T* a, std::int32_t lda,
                       const T* b, std::int32_t ldb, T* c, std::int32_t ldc) {
  if (std::int64_t{n} * n * k <= kLoopUpdate) {
    product_loops<T, true>(n, n, k, a, lda, b, ldb, c, ldc);
    return;
  }
  if (by_vectors(n, n, k, a, lda, b, ldb, c, ldc)) return;
  if (n <= kTile) {
    T tile[kTile * kTile];
    blas::gemm(CblasNoTrans, blas::kAcross<T>, n, n, k, T(1), a, lda, b, ldb, T(0), tile,
               n);
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int32_t i = j; i < n; ++i)
        c[i + std::int64_t{j} * ldc] -= tile[i + j * n];
    return;
  }
  const std::int32_t half = ((n / 2 + 7) / 8) * 8;
  subtract_triangle(half, k, a, lda, b, ldb, c, ldc);
  subtract_product(n - half, half, k, a + half, lda, b, ldb, c + half, ldc);
  subtract_triangle(n - half, k, a + half, lda, b + half, ldb,
                    c + half + std::int64_t{half} * ldc, ldc);
}

}  // namespace

template <class T>
void update_lower(std::int32_t m, std::int32_t n, std::int32_t k, const T* a,
                  std::int32_t lda, T* c, std::int32_t ldc) {
  update_lower_product(m, n, k, a, lda, a, lda, c, ldc);
}

template <class T>
void update_lower_product(std::int32_t m, std::int32_t n, std::int32_t k, const T* a,
                          std::int32_t lda, const T* b, std::int32_t ldb, T* c,
                          std::int32_t ldc) {
  if (m == 0 || n == 0 || k == 0) return;
  if (std::int64_t{m} * n * k <= kLoopUpdate) {
    product_loops<T, true>(m, n, k, a, lda, b, ldb, c, ldc);
    return;
  }
  if (by_vectors(m, n, k, a, lda, b, ldb, c, ldc)) return;
  subtract_triangle(n, k, a, lda, b, ldb, c, ldc);
  if (m > n) subtract_product(m - n, n, k, a + n, lda, b, ldb, c + n, ldc);
}

template <class T>
void update_lower_ldlt(std::int32_t m, std::int32_t n, std::int32_t k, const T* a,
                       std::int32_t lda, const T* d, T* c, std::int32_t ldc,
                       std::span<std::type_identity_t<T>> scratch) {
  ESPALIER_ASSERT(std::int64_t(scratch.size()) >= std::int64_t{n} * k,
                  "scratch is short");
  if (m == 0 || n == 0 || k == 0) return;
  multiply_by_d(n, k, a, lda, d, scratch.data(), n);
  update_lower_product(m, n, k, a, lda, scratch.data(), n, c, ldc);
}

template <class T>
void update_general(std::int32_t m, std::int32_t n, std::int32_t k, const T* a,
                    std::int32_t lda, const T* b, std::int32_t ldb, T* c,
                    std::int32_t ldc) {
  if (m == 0 || n == 0 || k == 0) return;
  if (std::int64_t{m} * n * k <= kLoopUpdate) {
    product_loops<T, false>(m, n, k, a, lda, b, ldb, c, ldc);
    return;
  }
  subtract_product(m, n, k, a, lda, b, ldb, c, ldc);
}

template <class T>
void multiply_by_d(std::int32_t m, std::int32_t k, const T* a, std::int32_t lda,
                   const T* d, T* b, std::int32_t ldb) {
  for (std::int32_t j = 0; j < k; ++j) {
    const T* const x = a + std::int64_t{j} * lda;
    T* const y = b + std::int64_t{j} * ldb;
    const T first = d[2 * j], cross = d[2 * j + 1];
    if (cross == T(0) || j + 1 == k) {
      for (std::int32_t i = 0; i < m; ++i) y[i] = x[i] * first;
      continue;
    }
    const T second = d[2 * j + 2];
    for (std::int32_t i = 0; i < m; ++i) {
      const T left = x[i], right = x[i + lda];
      y[i] = first * left + cross * right;
      y[i + ldb] = across(cross) * left + second * right;
    }
    ++j;
  }
}

#define ESPALIER_INSTANTIATE(T)                                                          \
  template void update_lower(std::int32_t, std::int32_t, std::int32_t, const T*,         \
                             std::int32_t, T*, std::int32_t);                            \
  template void update_lower_product(std::int32_t, std::int32_t, std::int32_t, const T*, \
                                     std::int32_t, const T*, std::int32_t, T*,           \
                                     std::int32_t);                                      \
  template void update_lower_ldlt(std::int32_t, std::int32_t, std::int32_t, const T*,    \
                                  std::int32_t, const T*, T*, std::int32_t,              \
                                  std::span<std::type_identity_t<T>>);                   \
  template void update_general(std::int32_t, std::int32_t, std::int32_t, const T*,       \
                               std::int32_t, const T*, std::int32_t, T*, std::int32_t);  \
  template void multiply_by_d(std::int32_t, std::int32_t, const T*, std::int32_t,        \
                              const T*, T*, std::int32_t);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver::kernels
