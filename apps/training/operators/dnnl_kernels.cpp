#include "training/operators/dnnl_kernels.h"

#include <algorithm>

#include "espalier/machine/load_module.h"
#include "training/operators/dnnl_module.h"

namespace espalier::training {
namespace {

const DnnlModule& loaded() {
  static const auto& module = module_table<DnnlModule>(
      "libespalier_dnnl.so", "Training steps", "espalier_dnnl_module");
  return module;
}

}  // namespace

std::unique_ptr<Kernel> make_dnnl_kernel(const OperatorSpec& spec,
                                         const KernelTensors& tensors) {
  return loaded().make_kernel(spec, tensors);
}

void make_product_code() { loaded().make_product_code(); }

Bytes packed_bytes(Bytes larger, Bytes smaller) {
  constexpr Bytes kElement = sizeof(float), kDepth = 384, kRows = 48;
  constexpr Bytes kLarge = 10'000 * kDepth * kElement,
                  kSmall = kDepth * kDepth * kElement;
  constexpr Bytes kFilled = 2 * (kRows * kDepth * kElement + 4096);
  return std::min(larger, kLarge) + std::min(smaller, kSmall) + kFilled;
}

}  // namespace espalier::training
