#include <fmt/format.h>

#include "espalier/model/error.h"
#include "training/operators/dnnl_program.h"
#include "training/operators/element_types.h"
#include "training/operators/plain_kernels.h"

namespace espalier::training {

std::unique_ptr<Kernel> make_dnnl_kernel(const OperatorSpec& spec,
                                         const KernelTensors& tensors) {
  if (auto kernel = make_typed_kernel(spec, tensors, ElementType::kFloat32))
    return kernel;
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

}  // namespace espalier::training
