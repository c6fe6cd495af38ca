#pragma once

#include <memory>

#include "training/operators/kernel.h"

namespace espalier::training {

// The oracle: double precision, plain format, loops as the definitions have them. null:
// not of this family.
[[nodiscard]] std::unique_ptr<Kernel> make_reference_linear(const OperatorSpec& spec,
                                                            const KernelTensors& tensors);
[[nodiscard]] std::unique_ptr<Kernel> make_reference_elementwise(
    const OperatorSpec& spec, const KernelTensors& tensors);
[[nodiscard]] std::unique_ptr<Kernel> make_reference_normalization(
    const OperatorSpec& spec, const KernelTensors& tensors);
[[nodiscard]] std::unique_ptr<Kernel> make_reference_pooling(
    const OperatorSpec& spec, const KernelTensors& tensors);

}  // namespace espalier::training
