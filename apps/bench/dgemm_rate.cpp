// The rate of dgemm and sgemm on matrices of order 2048: what the machine can do, in the
// same run as what the solvers do. dgemm_rate THREADS prints JSON.

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "peer_run.h"

namespace {

using espalier::Clock;
using espalier::since;

constexpr int kOrder = 2048, kRuns = 5;

void gemm(const double* a, const double* b, double* c) {
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, kOrder, kOrder, kOrder, 1.0, a,
              kOrder, b, kOrder, 0.0, c, kOrder);
}
void gemm(const float* a, const float* b, float* c) {
  cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, kOrder, kOrder, kOrder, 1.0F, a,
              kOrder, b, kOrder, 0.0F, c, kOrder);
}

// Flops a second, the best of some runs after one that wakes the threads.
template <class T>
double rate() {
  const std::vector<T> a(kOrder * kOrder, T(0.5)), b(kOrder * kOrder, T(0.25));
  std::vector<T> c(kOrder * kOrder);
  gemm(a.data(), b.data(), c.data());
  double best = 0;
  for (int i = 0; i < kRuns; ++i) {
    const auto start = Clock::now();
    gemm(a.data(), b.data(), c.data());
    best = std::max(best, 2.0 * kOrder * kOrder * kOrder / since(start));
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc == 2 ? std::atoi(argv[1]) : 0;
  if (threads < 1) {
    fmt::print(stderr, "usage: dgemm_rate THREADS\n");
    return 2;
  }
  espalier::bench::set_blas_threads(threads);
  fmt::print(
      "{{\"order\": {}, \"threads\": {}, \"dgemm_rate\": {}, \"sgemm_rate\": {}}}\n",
      kOrder, threads, rate<double>(), rate<float>());
  return 0;
}
