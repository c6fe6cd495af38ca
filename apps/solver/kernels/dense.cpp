#include "solver/kernels/dense.h"

#include <cblas.h>

#include <cmath>

// OpenBLAS has it, other libraries do not: null then.
extern "C" __attribute__((weak)) void openblas_set_num_threads(int threads);

// Plain loops are compiled for several instruction sets, of which the processor takes its
// best at load time; sanitizers do not bear that.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ESPALIER_MULTIVERSION \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ESPALIER_MULTIVERSION
#endif

namespace espalier::solver::kernels {
namespace {

constexpr std::int32_t kUnblocked = 32;     // order up to which loops beat calls
constexpr std::int64_t kLoopUpdate = 4096;  // m n k up to which loops beat calls
constexpr std::int32_t kTriangle = 64;      // order of triangles that dtrsm solves

ESPALIER_MULTIVERSION
std::int32_t cholesky_loops(std::int32_t n, double* a, std::int32_t lda) {
  for (std::int32_t j = 0; j < n; ++j) {
    double* const column = a + std::int64_t{j} * lda;
    const double pivot = column[j];
    if (!(pivot > 0) || std::isinf(pivot)) return j + 1;
    const double root = std::sqrt(pivot), inverse = 1 / root;
    column[j] = root;
    for (std::int32_t i = j + 1; i < n; ++i) column[i] *= inverse;
    for (std::int32_t k = j + 1; k < n; ++k) {
      double* const target = a + std::int64_t{k} * lda;
      const double factor = column[k];
      for (std::int32_t i = k; i < n; ++i) target[i] -= factor * column[i];
    }
  }
  return 0;
}

ESPALIER_MULTIVERSION
void solve_below_loops(std::int32_t m, std::int32_t n, const double* l, std::int32_t ldl,
                       double* b, std::int32_t ldb) {
  for (std::int32_t j = 0; j < n; ++j) {
    double* const column = b + std::int64_t{j} * ldb;
    for (std::int32_t k = 0; k < j; ++k) {
      const double factor = l[j + std::int64_t{k} * ldl];
      const double* const source = b + std::int64_t{k} * ldb;
      for (std::int32_t i = 0; i < m; ++i) column[i] -= factor * source[i];
    }
    const double inverse = 1 / l[j + std::int64_t{j} * ldl];
    for (std::int32_t i = 0; i < m; ++i) column[i] *= inverse;
  }
}

ESPALIER_MULTIVERSION
void update_loops(std::int32_t m, std::int32_t n, std::int32_t k, const double* a,
                  std::int32_t lda, double* c, std::int32_t ldc) {
  for (std::int32_t j = 0; j < n; ++j) {
    double* const column = c + std::int64_t{j} * ldc;
    for (std::int32_t q = 0; q < k; ++q) {
      const double* const source = a + std::int64_t{q} * lda;
      const double factor = source[j];
      for (std::int32_t i = j; i < m; ++i) column[i] -= factor * source[i];
    }
  }
}

}  // namespace

std::int32_t cholesky(std::int32_t n, double* a, std::int32_t lda) {
  if (n <= kUnblocked) return cholesky_loops(n, a, lda);
  const std::int32_t half = ((n / 2 + 7) / 8) * 8, rest = n - half;
  if (const auto failed = cholesky(half, a, lda)) return failed;
  double* const below = a + half;
  double* const corner = a + half + std::int64_t{half} * lda;
  solve_below(rest, half, a, lda, below, lda);
  cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, rest, half, -1.0, below, lda, 1.0,
              corner, lda);
  const auto failed = cholesky(rest, corner, lda);
  return failed ? failed + half : 0;
}

void solve_below(std::int32_t m, std::int32_t n, const double* l, std::int32_t ldl,
                 double* b, std::int32_t ldb) {
  if (m == 0 || n == 0) return;
  if (std::int64_t{m} * n * n <= kLoopUpdate) {
    solve_below_loops(m, n, l, ldl, b, ldb);
    return;
  }
  if (n <= kTriangle) {
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, m, n,
                1.0, l, ldl, b, ldb);
    return;
  }
  // Halves, so that most of the work is dgemm's, which is twice as fast.
  const std::int32_t half = ((n / 2 + 7) / 8) * 8;
  double* const right = b + std::int64_t{half} * ldb;
  solve_below(m, half, l, ldl, b, ldb);
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, m, n - half, half, -1.0, b, ldb,
              l + half, ldl, 1.0, right, ldb);
  solve_below(m, n - half, l + half + std::int64_t{half} * ldl, ldl, right, ldb);
}

void update(std::int32_t m, std::int32_t n, std::int32_t k, const double* a,
            std::int32_t lda, double* c, std::int32_t ldc) {
  if (m == 0 || n == 0 || k == 0) return;
  if (std::int64_t{m} * n * k <= kLoopUpdate) {
    update_loops(m, n, k, a, lda, c, ldc);
    return;
  }
  cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, n, k, -1.0, a, lda, 1.0, c, ldc);
  if (m > n)
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, m - n, n, k, -1.0, a + n, lda, a,
                lda, 1.0, c + n, ldc);
}

void forward_block(std::int32_t m, std::int32_t n, const double* l, std::int32_t ld,
                   double* x) {
  if (n < 8) {
    for (std::int32_t j = 0; j < n; ++j) {
      const double* const column = l + std::int64_t{j} * ld;
      const double value = x[j] /= column[j];
      for (std::int32_t i = j + 1; i < n + m; ++i) x[i] -= value * column[i];
    }
    return;
  }
  cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, l, ld, x, 1);
  if (m > 0)
    cblas_dgemv(CblasColMajor, CblasNoTrans, m, n, -1.0, l + n, ld, x, 1, 1.0, x + n, 1);
}

void backward_block(std::int32_t m, std::int32_t n, const double* l, std::int32_t ld,
                    double* x) {
  if (n < 8) {
    for (std::int32_t j = n - 1; j >= 0; --j) {
      const double* const column = l + std::int64_t{j} * ld;
      double sum = x[j];
      for (std::int32_t i = j + 1; i < n + m; ++i) sum -= column[i] * x[i];
      x[j] = sum / column[j];
    }
    return;
  }
  if (m > 0)
    cblas_dgemv(CblasColMajor, CblasTrans, m, n, -1.0, l + n, ld, x + n, 1, 1.0, x, 1);
  cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, n, l, ld, x, 1);
}

void use_one_blas_thread() {
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(1);
}

}  // namespace espalier::solver::kernels
