#include <fmt/format.h>

#include <algorithm>

#include "espalier/model/error.h"
#include "training/operators/dnnl_program.h"

namespace espalier::training {
namespace {

using dnnl::algorithm;
using dnnl::memory;

algorithm method_of(const OperatorSpec& spec) {
  if (spec.kind == OperatorKind::kMaxPool || spec.kind == OperatorKind::kMaxPoolBackward)
    return algorithm::pooling_max;
  return spec.window.count_padding ? algorithm::pooling_avg_include_padding
                                   : algorithm::pooling_avg_exclude_padding;
}

// What the last windows reach beyond the end, which rounding up makes more than the
// padding.
memory::dims reached_end(const Window& window, const TensorShape& x,
                         const TensorShape& y) {
  memory::dims end;
  for (std::size_t i = 0; i < window.kernel.size(); ++i) {
    const auto axis = static_cast<std::int64_t>(i) + 2;
    const std::int64_t span = (window.kernel[i] - 1) * window.dilations[i] + 1;
    end.push_back(std::max(window.pads_end[i], (y.dim(axis) - 1) * window.strides[i] +
                                                   span - x.dim(axis) -
                                                   window.pads_begin[i]));
  }
  return end;
}

struct Pooling {
  memory::desc x, y;
  memory::dims strides, kernel, dilations, begin, end;
  algorithm method;
  PoolingForward::primitive_desc forward;

  Pooling(const OperatorSpec& spec, const TensorShape& x_shape,
          const TensorShape& y_shape)
      : x(describe_memory(x_shape)),
        y(describe_memory(y_shape)),
        strides(spec.window.strides),
        kernel(spec.window.kernel),
        begin(spec.window.pads_begin),
        end(reached_end(spec.window, x_shape, y_shape)),
        method(method_of(spec)) {
    for (const std::int64_t each : spec.window.dilations) dilations.push_back(each - 1);
    forward = describe<PoolingForward>(dnnl::prop_kind::forward_training, method, x, y,
                                       strides, kernel, dilations, begin, end);
  }
};

memory::desc indices_of(const Pooling& pooling, const TensorShape& indices) {
  const memory::desc workspace = pooling.forward.workspace_desc();
  if (static_cast<Bytes>(workspace.get_size()) > indices.bytes())
    throw InvalidInput(fmt::format("indices of {} bytes: {} are needed", indices.bytes(),
                                   workspace.get_size()));
  return workspace;
}

std::unique_ptr<Kernel> pool(const OperatorSpec& spec, const KernelTensors& tensors) {
  const Pooling pooling(spec, tensors.input(0), tensors.output(0));
  auto program = std::make_unique<DnnlProgram>();
  std::vector<DnnlProgram::Argument> arguments = {
      {DNNL_ARG_SRC, pooling.x, Operand::input(0)},
      {DNNL_ARG_DST, pooling.y, Operand::output(0)}};
  if (spec.kind == OperatorKind::kMaxPool)
    arguments.push_back(
        {DNNL_ARG_WORKSPACE, indices_of(pooling, tensors.output(1)), Operand::output(1)});
  program->add(pooling.forward, PoolingForward(pooling.forward), arguments);
  return program;
}

std::unique_ptr<Kernel> pool_backward(const OperatorSpec& spec,
                                      const KernelTensors& tensors) {
  const bool max = spec.kind == OperatorKind::kMaxPoolBackward;
  const std::size_t g = max ? 1 : 0;
  const Pooling pooling(spec, tensors.output(0), tensors.input(g));
  const auto description = describe_backward<PoolingBackward>(
      pooling.forward, pooling.method, pooling.x, pooling.y, pooling.strides,
      pooling.kernel, pooling.dilations, pooling.begin, pooling.end);
  auto program = std::make_unique<DnnlProgram>();
  std::vector<DnnlProgram::Argument> arguments = {
      {DNNL_ARG_DIFF_DST, pooling.y, Operand::input(static_cast<std::int64_t>(g))},
      {DNNL_ARG_DIFF_SRC, pooling.x, Operand::output(0)}};
  if (max)
    arguments.push_back(
        {DNNL_ARG_WORKSPACE, indices_of(pooling, tensors.input(0)), Operand::input(0)});
  program->add(description, PoolingBackward(description), arguments);
  return program;
}

}  // namespace

std::unique_ptr<Kernel> make_dnnl_pooling(const OperatorSpec& spec,
                                          const KernelTensors& tensors) {
  switch (spec.kind) {
    case OperatorKind::kMaxPool:
    case OperatorKind::kAveragePool:
      return pool(spec, tensors);
    case OperatorKind::kMaxPoolBackward:
    case OperatorKind::kAveragePoolBackward:
      return pool_backward(spec, tensors);
    default:
      return nullptr;
  }
}

}  // namespace espalier::training
