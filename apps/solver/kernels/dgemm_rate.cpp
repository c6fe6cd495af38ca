#include "solver/kernels/dgemm_rate.h"

#include <algorithm>
#include <vector>

#include "espalier/model/processor_time.h"
#include "solver/kernels/blas.h"
#include "solver/kernels/dense.h"

namespace espalier::solver::kernels {
namespace {

constexpr std::int32_t kOrder = 512, kCalls = 3;
constexpr Seconds kLeastSeconds = 0.03;

}  // namespace

Flops dgemm_rate() {
  use_one_blas_thread();
  constexpr std::size_t kEntries = std::size_t{kOrder} * kOrder;
  const std::vector<double> a(kEntries, 0.5), b(kEntries, 0.25);
  std::vector<double> c(kEntries);
  const auto multiply = [&] {
    blas::gemm(CblasNoTrans, CblasTrans, kOrder, kOrder, kOrder, 1.0, a.data(), kOrder,
               b.data(), kOrder, 0.0, c.data(), kOrder);
  };
  multiply();  // its buffers become resident
  Seconds best = 1e9;
  const Seconds begin = thread_seconds();
  for (int call = 0; call < kCalls || thread_seconds() - begin < kLeastSeconds; ++call) {
    const Seconds start = thread_seconds();
    multiply();
    best = std::min(best, thread_seconds() - start);
  }
  return 2.0 * kOrder * kOrder * kOrder / best;
}

}  // namespace espalier::solver::kernels
