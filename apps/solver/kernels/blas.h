#pragma once

// The BLAS routines that the kernels use, column-major, one name for all entries.
// Private to the kernels.

#include <cblas.h>

#include <complex>
#include <cstdint>

#include "solver/matrix/entry.h"

namespace espalier::solver::kernels::blas {

using Index = std::int32_t;
using Transpose = CBLAS_TRANSPOSE;

/// What makes A B^T of a product of entries, A B^H of those of Hermitian matrices.
template <class T>
inline constexpr Transpose kAcross = kIsHermitian<T> ? CblasConjTrans : CblasTrans;

inline void gemm(Transpose ta, Transpose tb, Index m, Index n, Index k, double alpha,
                 const double* a, Index lda, const double* b, Index ldb, double beta,
                 double* c, Index ldc) {
  cblas_dgemm(CblasColMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
inline void gemm(Transpose ta, Transpose tb, Index m, Index n, Index k, float alpha,
                 const float* a, Index lda, const float* b, Index ldb, float beta,
                 float* c, Index ldc) {
  cblas_sgemm(CblasColMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

/// Lower triangle of C -= A A^T, of Hermitian entries A A^H.
inline void trsm(CBLAS_SIDE side, CBLAS_UPLO uplo, Transpose transpose, CBLAS_DIAG diag,
                 Index m, Index n, const double* a, Index lda, double* b, Index ldb) {
  cblas_dtrsm(CblasColMajor, side, uplo, transpose, diag, m, n, 1, a, lda, b, ldb);
}
inline void trsm(CBLAS_SIDE side, CBLAS_UPLO uplo, Transpose transpose, CBLAS_DIAG diag,
                 Index m, Index n, const float* a, Index lda, float* b, Index ldb) {
  cblas_strsm(CblasColMajor, side, uplo, transpose, diag, m, n, 1, a, lda, b, ldb);
}

/// B := B op(A), A a triangle.
inline void trmm(CBLAS_UPLO uplo, Transpose transpose, CBLAS_DIAG diag, Index m, Index n,
                 const double* a, Index lda, double* b, Index ldb) {
  cblas_dtrmm(CblasColMajor, CblasRight, uplo, transpose, diag, m, n, 1, a, lda, b, ldb);
}
inline void trmm(CBLAS_UPLO uplo, Transpose transpose, CBLAS_DIAG diag, Index m, Index n,
                 const float* a, Index lda, float* b, Index ldb) {
  cblas_strmm(CblasColMajor, CblasRight, uplo, transpose, diag, m, n, 1, a, lda, b, ldb);
}

/// y -= op(A) x.
inline void gemv(Transpose transpose, Index m, Index n, const double* a, Index lda,
                 const double* x, double* y) {
  cblas_dgemv(CblasColMajor, transpose, m, n, -1, a, lda, x, 1, 1, y, 1);
}
inline void gemv(Transpose transpose, Index m, Index n, const float* a, Index lda,
                 const float* x, float* y) {
  cblas_sgemv(CblasColMajor, transpose, m, n, -1, a, lda, x, 1, 1, y, 1);
}

/// x := L x, L a unit lower triangle.
inline void trmv(Index n, const double* a, Index lda, double* x) {
  cblas_dtrmv(CblasColMajor, CblasLower, CblasNoTrans, CblasUnit, n, a, lda, x, 1);
}
inline void trmv(Index n, const float* a, Index lda, float* x) {
  cblas_strmv(CblasColMajor, CblasLower, CblasNoTrans, CblasUnit, n, a, lda, x, 1);
}

inline void trsv(CBLAS_UPLO uplo, Transpose transpose, CBLAS_DIAG diag, Index n,
                 const double* a, Index lda, double* x) {
  cblas_dtrsv(CblasColMajor, uplo, transpose, diag, n, a, lda, x, 1);
}
inline void trsv(CBLAS_UPLO uplo, Transpose transpose, CBLAS_DIAG diag, Index n,
                 const float* a, Index lda, float* x) {
  cblas_strsv(CblasColMajor, uplo, transpose, diag, n, a, lda, x, 1);
}

#define ESPALIER_COMPLEX_BLAS(T, letter)                                                 \
  inline void gemm(Transpose ta, Transpose tb, Index m, Index n, Index k, T alpha,       \
                   const T* a, Index lda, const T* b, Index ldb, T beta, T* c,           \
                   Index ldc) {                                                          \
    cblas_##letter##gemm(CblasColMajor, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta,  \
                         c, ldc);                                                        \
  }                                                                                      \
  inline void trsm(CBLAS_SIDE side, CBLAS_UPLO uplo, Transpose transpose,                \
                   CBLAS_DIAG diag, Index m, Index n, const T* a, Index lda, T* b,       \
                   Index ldb) {                                                          \
    const T one(1);                                                                      \
    cblas_##letter##trsm(CblasColMajor, side, uplo, transpose, diag, m, n, &one, a, lda, \
                         b, ldb);                                                        \
  }                                                                                      \
  inline void trmm(CBLAS_UPLO uplo, Transpose transpose, CBLAS_DIAG diag, Index m,       \
                   Index n, const T* a, Index lda, T* b, Index ldb) {                    \
    const T one(1);                                                                      \
    cblas_##letter##trmm(CblasColMajor, CblasRight, uplo, transpose, diag, m, n, &one,   \
                         a, lda, b, ldb);                                                \
  }                                                                                      \
  inline void gemv(Transpose transpose, Index m, Index n, const T* a, Index lda,         \
                   const T* x, T* y) {                                                   \
    const T one(1), minus(-1);                                                           \
    cblas_##letter##gemv(CblasColMajor, transpose, m, n, &minus, a, lda, x, 1, &one, y,  \
                         1);                                                             \
  }                                                                                      \
  inline void trmv(Index n, const T* a, Index lda, T* x) {                               \
    cblas_##letter##trmv(CblasColMajor, CblasLower, CblasNoTrans, CblasUnit, n, a, lda,  \
                         x, 1);                                                          \
  }                                                                                      \
  inline void trsv(CBLAS_UPLO uplo, Transpose transpose, CBLAS_DIAG diag, Index n,       \
                   const T* a, Index lda, T* x) {                                        \
    cblas_##letter##trsv(CblasColMajor, uplo, transpose, diag, n, a, lda, x, 1);         \
  }
ESPALIER_COMPLEX_BLAS(std::complex<double>, z)
ESPALIER_COMPLEX_BLAS(std::complex<float>, c)
ESPALIER_COMPLEX_BLAS(HermitianEntry<double>, z)
ESPALIER_COMPLEX_BLAS(HermitianEntry<float>, c)
#undef ESPALIER_COMPLEX_BLAS

}  // namespace espalier::solver::kernels::blas
