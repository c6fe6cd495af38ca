#include "training/operators/dnnl_products.h"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <vector>

namespace espalier::training {

void make_product_code() {
  constexpr std::int64_t kOrder = 64;
  const std::vector<float> a(kOrder * kOrder), b = a;
  std::vector<float> c = a;
  static_cast<void>(dnnl_sgemm('N', 'N', kOrder, kOrder, kOrder, 1, a.data(), kOrder,
                               b.data(), kOrder, 0, c.data(), kOrder));
}

Bytes packed_bytes(Bytes larger, Bytes smaller) {
  constexpr Bytes kElement = sizeof(float), kDepth = 384, kRows = 48;
  constexpr Bytes kLarge = 10'000 * kDepth * kElement,
                  kSmall = kDepth * kDepth * kElement;
  constexpr Bytes kFilled = 2 * (kRows * kDepth * kElement + 4096);
  return std::min(larger, kLarge) + std::min(smaller, kSmall) + kFilled;
}

}  // namespace espalier::training
