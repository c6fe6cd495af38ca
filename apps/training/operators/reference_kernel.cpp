#include "espalier/model/error.h"
#include "training/operators/element_types.h"
#include "training/operators/plain_kernels.h"
#include "training/operators/reference_kernels.h"

namespace espalier::training {

std::unique_ptr<Kernel> make_reference_kernel(const OperatorSpec& spec,
                                              const KernelTensors& tensors) {
  if (auto kernel = make_typed_kernel(spec, tensors, ElementType::kFloat64))
    return kernel;
  for (const auto make :
       {make_plain_unary<double>, make_reference_linear, make_reference_elementwise,
        make_reference_normalization, make_reference_pooling, make_plain_pieces<double>,
        make_plain_kernel<double>})
    if (auto kernel = make(spec, tensors)) return kernel;
  throw InvalidInput("no kernel for an operator of this kind");
}

}  // namespace espalier::training
