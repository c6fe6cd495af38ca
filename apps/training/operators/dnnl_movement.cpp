#include "espalier/model/error.h"
#include "training/operators/dnnl_program.h"

namespace espalier::training {
namespace {

using dnnl::memory;

bool plain(const TensorShape& shape) { return shape.format == TensorFormat::kPlain; }

// The elements keep their order in the plain format: at most one reorder into it and one
// out of it.
std::unique_ptr<Kernel> copy(const KernelTensors& tensors) {
  const TensorShape &x = tensors.input(0), &y = tensors.output(0);
  auto program = std::make_unique<DnnlProgram>();
  const memory::desc as_x = plain_memory(x.dims, x.type);
  const memory::desc as_y = plain_memory(y.dims, y.type);
  if (x.dims == y.dims) {
    program->add_reorder(Operand::input(0), describe_memory(x), Operand::output(0),
                         describe_memory(y));
  } else if (plain(y)) {
    program->add_reorder(Operand::input(0), describe_memory(x), Operand::output(0), as_x);
  } else {
    const Operand middle = plain(x) ? Operand::input(0) : program->scratch(as_x);
    if (!plain(x))
      program->add_reorder(Operand::input(0), describe_memory(x), middle, as_x);
    program->add_reorder(middle, as_y, Operand::output(0), describe_memory(y));
  }
  return program;
}

std::unique_ptr<Kernel> transpose(const OperatorSpec& spec,
                                  const KernelTensors& tensors) {
  std::vector<int> goes_to(spec.axes.size());
  for (std::size_t i = 0; i < spec.axes.size(); ++i)
    goes_to.at(static_cast<std::size_t>(spec.axes[i])) = static_cast<int>(i);
  auto program = std::make_unique<DnnlProgram>();
  program->add_reorder(Operand::input(0),
                       describe_memory(tensors.input(0)).permute_axes(goes_to),
                       Operand::output(0), describe_memory(tensors.output(0)));
  return program;
}

std::unique_ptr<Kernel> concat(const OperatorSpec& spec, const KernelTensors& tensors) {
  const TensorShape& y = tensors.output(0);
  std::vector<memory::desc> memories;
  std::vector<DnnlProgram::Argument> arguments = {
      {DNNL_ARG_DST, describe_memory(y), Operand::output(0)}};
  for (std::size_t i = 0; i < tensors.inputs.size(); ++i) {
    memories.push_back(describe_memory(tensors.input(i)));
    arguments.push_back({DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), memories.back(),
                         Operand::input(static_cast<std::int64_t>(i))});
  }
  const auto axis = static_cast<int>(spec.axis < 0 ? spec.axis + y.rank() : spec.axis);
  const auto description =
      describe_joined<dnnl::concat>(describe_memory(y), axis, memories);
  auto program = std::make_unique<DnnlProgram>();
  program->add(description, dnnl::concat(description), arguments);
  return program;
}

// Outputs that are left out are skipped over: they say how wide they are in spec.steps.
std::unique_ptr<Kernel> split(const OperatorSpec& spec, const KernelTensors& tensors) {
  const TensorShape& x = tensors.input(0);
  const memory::desc from = describe_memory(x);
  const auto axis =
      static_cast<std::size_t>(spec.axis < 0 ? spec.axis + x.rank() : spec.axis);
  auto program = std::make_unique<DnnlProgram>();
  memory::dims offsets(x.dims.size(), 0);
  for (std::size_t i = 0; i < tensors.outputs.size(); ++i) {
    if (!tensors.has_output(i)) {
      offsets[axis] += spec.steps.at(i);
      continue;
    }
    const TensorShape& y = tensors.output(i);
    program->add_reorder(Operand::input(0), from.submemory_desc(y.dims, offsets),
                         Operand::output(static_cast<std::int64_t>(i)),
                         describe_memory(y));
    offsets[axis] += y.dims[axis];
  }
  return program;
}

}  // namespace

std::unique_ptr<Kernel> make_dnnl_movement(const OperatorSpec& spec,
                                           const KernelTensors& tensors) {
  switch (spec.kind) {
    case OperatorKind::kCopy:
      if (tensors.input(0).type != ElementType::kFloat32 && plain(tensors.input(0)) &&
          plain(tensors.output(0)))
        return nullptr;
      return copy(tensors);
    case OperatorKind::kTranspose:
      return transpose(spec, tensors);
    case OperatorKind::kConcat:
      return concat(spec, tensors);
    case OperatorKind::kSplit:
      return split(spec, tensors);
    default:
      return nullptr;
  }
}

}  // namespace espalier::training
