#include "training/operators/dnnl_module.h"

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>

#include <vector>

#include "espalier/model/error.h"
#include "training/operators/dnnl_program.h"
#include "training/operators/element_types.h"
#include "training/operators/plain_kernels.h"

namespace espalier::training {
namespace {

// oneDNN counts some extents in 32 bits, and says nothing of larger ones.
void refuse_long_axes(const OperatorSpec& spec, const KernelTensors& tensors) {
  if (spec.kind == OperatorKind::kCopy) return;
  for (const auto* list : {&tensors.inputs, &tensors.outputs})
    for (const auto& tensor : *list)
      for (const std::int64_t extent : tensor ? tensor->dims : Shape())
        check_extent(extent);
}

std::unique_ptr<Kernel> make_kernel(const OperatorSpec& spec,
                                    const KernelTensors& tensors) {
  if (auto kernel = make_typed_kernel(spec, tensors, ElementType::kFloat32))
    return kernel;
  refuse_long_axes(spec, tensors);
  try {
    for (const auto make :
         {make_plain_unary<float>, make_dnnl_convolution, make_dnnl_matmul,
          make_dnnl_elementwise, make_dnnl_normalization, make_dnnl_pooling,
          make_dnnl_movement, make_plain_kernel<float>})
      if (auto kernel = make(spec, tensors)) return kernel;
  } catch (const dnnl::error& error) {
    throw InvalidInput(fmt::format("oneDNN refuses it: {}", error.what()));
  }
  throw InvalidInput("no kernel for an operator of this kind");
}

void make_product_code() {
  constexpr std::int64_t kOrder = 64;
  const std::vector<float> a(kOrder * kOrder), b = a;
  std::vector<float> c = a;
  static_cast<void>(dnnl_sgemm('N', 'N', kOrder, kOrder, kOrder, 1, a.data(), kOrder,
                               b.data(), kOrder, 0, c.data(), kOrder));
}

}  // namespace
}  // namespace espalier::training

extern "C" __attribute__((visibility("default")))
const espalier::training::DnnlModule espalier_dnnl_module{
    .make_kernel = espalier::training::make_kernel,
    .make_product_code = espalier::training::make_product_code};
