#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "training/operators/operator_spec.h"

namespace espalier::training {

/// Where the tensors of an operator are while it runs, in the order of OperatorKind; a
/// tensor that is left out is null.
struct KernelCall {
  std::span<std::byte*const> inputs, outputs;
  std::byte* scratch = nullptr;  ///< scratch_bytes(), aligned to 64
  std::int64_t step = 0;         ///< of training, from 0
  std::uint64_t seed = 0;
};

/// An operator for tensors of fixed shapes. It allocates nothing of the size of a tensor
/// when it runs, and its result depends on its inputs, the number of threads and the
/// alignment alone.
class Kernel {
 public:
  Kernel() = default;
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  [[nodiscard]] virtual Bytes scratch_bytes() const { return 0; }
  /// One call at a time.
  virtual void run(const KernelCall& call) = 0;
};

/// What a kernel is made for; no value: a tensor that is left out.
struct KernelTensors {
  std::vector<std::optional<TensorShape>> inputs, outputs;

  [[nodiscard]] bool has_input(std::size_t i) const {
    return i < inputs.size() && inputs[i].has_value();
  }
  [[nodiscard]] bool has_output(std::size_t i) const {
    return i < outputs.size() && outputs[i].has_value();
  }
  /// @throws InvalidInput for one that is left out and may not be
  [[nodiscard]] const TensorShape& input(std::size_t i) const;
  [[nodiscard]] const TensorShape& output(std::size_t i) const;
};

/// By plain loops in double precision and the plain format: the oracle. Through oneDNN:
/// dnnl_kernels.h.
/// @throws InvalidInput for tensors that do not go together
[[nodiscard]] std::unique_ptr<Kernel> make_reference_kernel(const OperatorSpec& spec,
                                                            const KernelTensors& tensors);

}  // namespace espalier::training
