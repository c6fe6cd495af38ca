#pragma once

#include <unordered_map>
#include <vector>

#include "training/operators/dnnl_versions.h"
#include "training/operators/kernel.h"

namespace espalier::training {

/// A tensor as oneDNN describes it. Element types that it does not know are bytes.
[[nodiscard]] dnnl::memory::desc describe_memory(const TensorShape& shape);
/// With other dims of as many elements, plain.
[[nodiscard]] dnnl::memory::desc plain_memory(const std::vector<std::int64_t>& dims,
                                              ElementType type = ElementType::kFloat32);
/// Of the same dims, in the format that a primitive likes best.
[[nodiscard]] dnnl::memory::desc any_memory(const std::vector<std::int64_t>& dims);

/// @throws InvalidInput for an extent that oneDNN counts wrongly: beyond 2^31 - 1
void check_extent(std::int64_t extent);

/// Where an argument of a primitive is.
struct Operand {
  enum class Place : std::int8_t { kInput, kOutput, kScratch };
  Place place = Place::kInput;
  std::int64_t at = 0;  ///< number of the tensor, or offset in the scratch memory

  static Operand input(std::int64_t i) { return {Place::kInput, i}; }
  static Operand output(std::int64_t i) { return {Place::kOutput, i}; }
};

/// A kernel that runs primitives of oneDNN one after the other. Temporaries and the
/// scratchpads of its primitives are parts of the kernel's scratch memory.
class DnnlProgram : public Kernel {
 public:
  struct Argument {
    int name;  ///< DNNL_ARG_…
    dnnl::memory::desc memory;
    Operand operand;
  };

  /// @throws Error of a oneDNN that computes wrongly on this processor
  DnnlProgram();
  [[nodiscard]] Bytes scratch_bytes() const override {
    return checked_add(kept_, shared_);
  }
  void run(const KernelCall& call) override;

  /// A temporary, until the end of the program.
  [[nodiscard]] Operand scratch(const dnnl::memory::desc& memory);

  /// `operand` as `wanted`: itself, or a temporary that a reorder fills.
  [[nodiscard]] Operand reordered(Operand operand, const dnnl::memory::desc& memory,
                                  const dnnl::memory::desc& wanted);
  void add_reorder(Operand from, const dnnl::memory::desc& from_memory, Operand to,
                   const dnnl::memory::desc& to_memory);

  template <class Description>
  void add(const Description& description, const dnnl::primitive& primitive,
           std::vector<Argument> arguments) {
    add_step(primitive, std::move(arguments), description.scratchpad_desc());
  }

 private:
  struct Bound {
    dnnl::memory memory;
    Operand operand;
  };
  struct Step {
    dnnl::primitive primitive;
    std::unordered_map<int, dnnl::memory> arguments;
    std::vector<Bound> bound;
  };
  void add_step(const dnnl::primitive& primitive, std::vector<Argument> arguments,
                const dnnl::memory::desc& scratchpad);

  dnnl::stream stream_;
  std::vector<Step> steps_;
  Bytes kept_ = 0;    // temporaries
  Bytes shared_ = 0;  // above them: the scratchpad of the primitive that runs
};

// One for each family of operators; null: not of this family.
[[nodiscard]] std::unique_ptr<Kernel> make_dnnl_convolution(const OperatorSpec& spec,
                                                            const KernelTensors& tensors);
[[nodiscard]] std::unique_ptr<Kernel> make_dnnl_matmul(const OperatorSpec& spec,
                                                       const KernelTensors& tensors);
[[nodiscard]] std::unique_ptr<Kernel> make_dnnl_elementwise(const OperatorSpec& spec,
                                                            const KernelTensors& tensors);
[[nodiscard]] std::unique_ptr<Kernel> make_dnnl_normalization(
    const OperatorSpec& spec, const KernelTensors& tensors);
[[nodiscard]] std::unique_ptr<Kernel> make_dnnl_pooling(const OperatorSpec& spec,
                                                        const KernelTensors& tensors);
[[nodiscard]] std::unique_ptr<Kernel> make_dnnl_movement(const OperatorSpec& spec,
                                                         const KernelTensors& tensors);

}  // namespace espalier::training
