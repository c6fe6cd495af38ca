#pragma once

#include "training/operators/kernel.h"

namespace espalier::training {

/// What libespalier_dnnl.so gives to who loads it, as the symbol espalier_dnnl_module:
/// the functions of dnnl_kernels.h, where they are described.
struct DnnlModule {
  std::unique_ptr<Kernel> (*make_kernel)(const OperatorSpec&, const KernelTensors&);
  void (*make_product_code)();
};

}  // namespace espalier::training
