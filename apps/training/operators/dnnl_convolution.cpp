#include <fmt/format.h>

#include "espalier/model/error.h"
#include "training/operators/dnnl_program.h"

namespace espalier::training {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;

// A convolution as oneDNN wants it: groups are a dimension of the weights, dilations
// count what is left out.
struct Convolution {
  memory::desc x, w, y;  // as they lie in the arena
  memory::desc w_any, b;
  memory::dims strides, dilations, begin, end;
  dnnl::convolution_forward::primitive_desc forward;

  Convolution(const Window& window, const TensorShape& x_shape,
              const TensorShape& w_shape, const TensorShape& y_shape, bool bias)
      : x(describe_memory(x_shape)), y(describe_memory(y_shape)) {
    memory::dims weights = w_shape.dims;
    if (window.groups > 1) {
      weights[0] /= window.groups;
      weights.insert(weights.begin(), window.groups);
    }
    w = plain_memory(weights);
    w_any = any_memory(weights);
    b = plain_memory({y_shape.dim(1)});
    strides = window.strides;
    for (const std::int64_t each : window.dilations) dilations.push_back(each - 1);
    begin = window.pads_begin;
    end = window.pads_end;
    forward = describe_forward(bias);
  }

  [[nodiscard]] dnnl::convolution_forward::primitive_desc describe_forward(
      bool bias) const {
    const auto prop = prop_kind::forward_training;
    const auto method = algorithm::convolution_direct;
    const dnnl::convolution_forward::desc description =
        bias ? dnnl::convolution_forward::desc(prop, method, x, w_any, b, y, strides,
                                               dilations, begin, end)
             : dnnl::convolution_forward::desc(prop, method, x, w_any, y, strides,
                                               dilations, begin, end);
    return {description, dnnl_attributes(), dnnl_engine()};
  }
};

std::unique_ptr<Kernel> forward(const OperatorSpec& spec, const KernelTensors& tensors) {
  const bool bias = tensors.has_input(2);
  const Convolution convolution(spec.window, tensors.input(0), tensors.input(1),
                                tensors.output(0), bias);
  auto program = std::make_unique<DnnlProgram>();
  const auto& description = convolution.forward;
  const memory::desc w = description.weights_desc();
  const Operand weights = program->reordered(Operand::input(1), convolution.w, w);
  std::vector<DnnlProgram::Argument> arguments = {
      {DNNL_ARG_SRC, convolution.x, Operand::input(0)},
      {DNNL_ARG_WEIGHTS, w, weights},
      {DNNL_ARG_DST, convolution.y, Operand::output(0)}};
  if (bias) arguments.push_back({DNNL_ARG_BIAS, convolution.b, Operand::input(2)});
  program->add(description, dnnl::convolution_forward(description), arguments);
  return program;
}

std::unique_ptr<Kernel> backward_data(const OperatorSpec& spec,
                                      const KernelTensors& tensors) {
  const Convolution convolution(spec.window, tensors.output(0), tensors.input(1),
                                tensors.input(0), false);
  const dnnl::convolution_backward_data::primitive_desc description(
      {algorithm::convolution_direct, convolution.x, convolution.w_any, convolution.y,
       convolution.strides, convolution.dilations, convolution.begin, convolution.end},
      dnnl_attributes(), dnnl_engine(), convolution.forward);
  auto program = std::make_unique<DnnlProgram>();
  const memory::desc w = description.weights_desc();
  const Operand weights = program->reordered(Operand::input(1), convolution.w, w);
  program->add(description, dnnl::convolution_backward_data(description),
               {{DNNL_ARG_DIFF_DST, convolution.y, Operand::input(0)},
                {DNNL_ARG_WEIGHTS, w, weights},
                {DNNL_ARG_DIFF_SRC, convolution.x, Operand::output(0)}});
  return program;
}

std::unique_ptr<Kernel> backward_weights(const OperatorSpec& spec,
                                         const KernelTensors& tensors) {
  const bool bias = tensors.has_output(1);
  const Convolution convolution(spec.window, tensors.input(0), tensors.output(0),
                                tensors.input(1), bias);
  using Backward = dnnl::convolution_backward_weights;
  const auto method = algorithm::convolution_direct;
  const Convolution& c = convolution;
  const Backward::desc wanted =
      bias ? Backward::desc(method, c.x, c.w_any, c.b, c.y, c.strides, c.dilations,
                            c.begin, c.end)
           : Backward::desc(method, c.x, c.w_any, c.y, c.strides, c.dilations, c.begin,
                            c.end);
  const Backward::primitive_desc description(wanted, dnnl_attributes(), dnnl_engine(),
                                             c.forward);
  auto program = std::make_unique<DnnlProgram>();
  const memory::desc w = description.diff_weights_desc();
  const bool same = w == c.w;
  const Operand weights = same ? Operand::output(0) : program->scratch(w);
  std::vector<DnnlProgram::Argument> arguments = {
      {DNNL_ARG_SRC, c.x, Operand::input(0)},
      {DNNL_ARG_DIFF_DST, c.y, Operand::input(1)},
      {DNNL_ARG_DIFF_WEIGHTS, w, weights}};
  if (bias) arguments.push_back({DNNL_ARG_DIFF_BIAS, c.b, Operand::output(1)});
  program->add(description, Backward(description), arguments);
  if (!same) program->add_reorder(weights, w, Operand::output(0), c.w);
  return program;
}

}  // namespace

std::unique_ptr<Kernel> make_dnnl_convolution(const OperatorSpec& spec,
                                              const KernelTensors& tensors) {
  switch (spec.kind) {
    case OperatorKind::kConvolution:
      return forward(spec, tensors);
    case OperatorKind::kConvolutionBackwardData:
      return backward_data(spec, tensors);
    case OperatorKind::kConvolutionBackwardWeights:
      return backward_weights(spec, tensors);
    default:
      return nullptr;
  }
}

}  // namespace espalier::training
