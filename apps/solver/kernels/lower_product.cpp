#include "solver/kernels/lower_product.h"

#include "solver/matrix/multiversion.h"

#ifdef ESPALIER_BY_PROCESSOR

#include <algorithm>
#include <cstring>

namespace espalier::solver::kernels {
namespace {

constexpr std::int32_t kSide = 8;       // rows of a tile, columns of a strip
constexpr std::int32_t kMostSum = 256;  // products added up

typedef double Wide [[gnu::vector_size(64)]];
typedef double Half [[gnu::vector_size(32)]];

struct Operands {
  std::int32_t m, n, k;
  const double* a;
  std::int64_t lda;
  const double* b;
  std::int64_t ldb;
  double* c;
  std::int64_t ldc;
};

template <class V>
[[gnu::always_inline]] inline void load(V& x, const double* at) {
  std::memcpy(&x, at, sizeof x);
}

// C -= A B^T of so many vectors of rows and so many columns: the products are added up by
// themselves, as gemm does, since C may be far larger than they are.
template <class V, int kVectors, int kColumns>
[[gnu::always_inline]] inline void subtract_tile(std::int32_t k, const double* a,
                                                 std::int64_t lda, const double* b,
                                                 std::int64_t ldb, double* c,
                                                 std::int64_t ldc) {
  constexpr int kLength = sizeof(V) / sizeof(double);
  V sum[kColumns][kVectors] = {};
  for (std::int32_t q = 0; q < k; ++q) {
    V rows[kVectors];
    for (int v = 0; v < kVectors; ++v) load(rows[v], a + q * lda + v * kLength);
    for (int j = 0; j < kColumns; ++j)
      for (int v = 0; v < kVectors; ++v) sum[j][v] += rows[v] * b[j + q * ldb];
  }
  for (int j = 0; j < kColumns; ++j)
    for (int v = 0; v < kVectors; ++v) {
      double* const place = c + j * ldc + v * kLength;
      V entries;
      load(entries, place);
      entries -= sum[j][v];
      std::memcpy(place, &entries, sizeof(V));
    }
}

// A strip of 8 columns, so many rows.
template <class V, int kTiles>
[[gnu::always_inline]] inline void subtract_rows(std::int32_t k, const double* a,
                                                 std::int64_t lda, const double* b,
                                                 std::int64_t ldb, double* c,
                                                 std::int64_t ldc) {
  constexpr int kLength = sizeof(V) / sizeof(double);
  // As many columns as a vector has entries: the sums fit in the registers.
  for (int j = 0; j < kSide; j += kLength)
    subtract_tile<V, kTiles * kSide / kLength, kLength>(k, a, lda, b + j, ldb,
                                                        c + j * ldc, ldc);
}

// A tile of which C has so many rows, and on the diagonal those from each column's own
// on.
template <class V>
[[gnu::always_inline]] inline void subtract_edge(std::int32_t k, const double* a,
                                                 std::int64_t lda, const double* b,
                                                 std::int64_t ldb, bool diagonal,
                                                 std::int32_t rows, std::int32_t columns,
                                                 double* c, std::int64_t ldc) {
  double tile[kSide * kSide] = {};
  subtract_rows<V, 1>(k, a, lda, b, ldb, tile, kSide);
  for (std::int32_t j = 0; j < columns; ++j)
    for (std::int32_t i = diagonal ? j : 0; i < rows; ++i)
      c[i + j * ldc] += tile[i + j * kSide];
}

// Rows that fill no tile, zeros after them.
[[gnu::always_inline]] inline void copy_ends(std::int32_t rows, std::int32_t k,
                                             const double* a, std::int64_t lda,
                                             double* ends) {
  for (std::int32_t q = 0; rows > 0 && q < k; ++q)
    for (std::int32_t i = 0; i < kSide; ++i)
      ends[i + q * kSide] = i < rows ? a[i + q * lda] : 0;
}

template <class V, int kTiles>
[[gnu::always_inline]] inline void subtract(const Operands& o) {
  const std::int32_t last = o.m % kSide, full = o.m - last, rest = o.n % kSide;
  double ends[kSide * kMostSum], columns[kSide * kMostSum];
  copy_ends(last, o.k, o.a + full, o.lda, ends);
  std::int32_t j = 0;
  for (; j + kSide <= o.n; j += kSide) {
    const double* const b = o.b + j;
    double* const c = o.c + j * o.ldc;
    subtract_edge<V>(o.k, o.a + j, o.lda, b, o.ldb, true, kSide, kSide, c + j, o.ldc);
    std::int32_t i = j + kSide;
    for (; i + kTiles * kSide <= full; i += kTiles * kSide)
      subtract_rows<V, kTiles>(o.k, o.a + i, o.lda, b, o.ldb, c + i, o.ldc);
    for (; i < full; i += kSide)
      subtract_rows<V, 1>(o.k, o.a + i, o.lda, b, o.ldb, c + i, o.ldc);
    if (last > 0)
      subtract_edge<V>(o.k, ends, kSide, b, o.ldb, false, last, kSide, c + full, o.ldc);
  }
  if (rest == 0) return;
  copy_ends(rest, o.k, o.b + j, o.ldb, columns);
  double* const c = o.c + j * o.ldc;
  for (std::int32_t i = j; i < full; i += kSide)
    subtract_edge<V>(o.k, o.a + i, o.lda, columns, kSide, i == j, kSide, rest, c + i,
                     o.ldc);
  if (last > 0)
    subtract_edge<V>(o.k, ends, kSide, columns, kSide, full == j, last, rest, c + full,
                     o.ldc);
}

[[gnu::target("arch=x86-64-v4")]] void subtract_by_wide(const Operands& operands) {
  subtract<Wide, 2>(operands);
}
[[gnu::target("arch=x86-64-v3")]] void subtract_by_half(const Operands& operands) {
  subtract<Half, 1>(operands);
}

using Subtract = void (*)(const Operands&);
Subtract best_of_processor(bool half) {
  __builtin_cpu_init();
  if (!half && __builtin_cpu_supports("x86-64-v4")) return subtract_by_wide;
  if (__builtin_cpu_supports("x86-64-v3")) return subtract_by_half;
  return nullptr;
}

}  // namespace

bool subtract_lower_product(std::int32_t m, std::int32_t n, std::int32_t k,
                            const double* a, std::int32_t lda, const double* b,
                            std::int32_t ldb, double* c, std::int32_t ldc, bool half) {
  static const Subtract best = best_of_processor(false), narrow = best_of_processor(true);
  const Subtract taken = half ? narrow : best;
  if (taken == nullptr || k > kMostSum) return false;
  taken({m, n, k, a, lda, b, ldb, c, ldc});
  return true;
}

}  // namespace espalier::solver::kernels

#else

namespace espalier::solver::kernels {

bool subtract_lower_product(std::int32_t, std::int32_t, std::int32_t, const double*,
                            std::int32_t, const double*, std::int32_t, double*,
                            std::int32_t, bool) {
  return false;
}

}  // namespace espalier::solver::kernels

#endif
