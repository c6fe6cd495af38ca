#include <string_view>

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
  memory::desc x, y, w_any, b;
  memory::dims strides, dilations, begin, end;
  dnnl::convolution_forward::primitive_desc forward;

  Convolution(const Window& window, const memory::desc& x_memory,
              const memory::desc& y_memory, const memory::desc& w, bool bias)
      : x(x_memory), y(y_memory), w_any(any_memory(dims_of(w))) {
    b = plain_memory({dims_of(y)[1]});
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
    using Forward = dnnl::convolution_forward;
    return bias ? describe<Forward>(prop, method, x, w_any, b, y, strides, dilations,
                                    begin, end)
                : describe<Forward>(prop, method, x, w_any, y, strides, dilations, begin,
                                    end);
  }
};

// What a convolution works on, as it lies in the arena.
struct Tensors {
  memory::desc x, w, y;

  Tensors(const Window& window, const TensorShape& x_shape, const TensorShape& w_shape,
          const TensorShape& y_shape)
      : x(describe_memory(x_shape)), y(describe_memory(y_shape)) {
    memory::dims weights = w_shape.dims;
    if (window.groups > 1) {
      weights[0] /= window.groups;
      weights.insert(weights.begin(), window.groups);
    }
    w = plain_memory(weights);
  }
};

// oneDNN's loops for what it has no fast code for.
template <class Description>
bool is_slow(const Description& description) {
  return std::string_view(description.impl_info_str()).starts_with("ref");
}

// For the formats in which x and y lie; where there is only slow code for those, and fast
// code for others, for the others: then the kernel reorders.
template <class Describe>
auto fastest(const Tensors& given, const Window& window, bool bias,
             const Describe& describe) {
  const auto as_given = describe(Convolution(window, given.x, given.y, given.w, bias));
  if (!is_slow(as_given)) return as_given;
  const auto free = describe(Convolution(window, any_memory(dims_of(given.x)),
                                         any_memory(dims_of(given.y)), given.w, bias));
  return is_slow(free) ? as_given : free;
}

// Where a primitive writes what is wanted as `memory` in output 0: itself, or a temporary
// that finish() reorders.
class Result {
 public:
  Result(DnnlProgram& program, const memory::desc& memory, const memory::desc& made)
      : program_(program),
        memory_(memory),
        made_(made),
        operand_(memory == made ? Operand::output(0) : program.scratch(made)) {}
  [[nodiscard]] const Operand& operand() const { return operand_; }
  void finish() {
    if (memory_ != made_)
      program_.add_reorder(operand_, made_, Operand::output(0), memory_);
  }

 private:
  DnnlProgram& program_;
  memory::desc memory_, made_;
  Operand operand_;
};

std::unique_ptr<Kernel> forward(const OperatorSpec& spec, const KernelTensors& tensors) {
  const bool bias = tensors.has_input(2);
  const Tensors given(spec.window, tensors.input(0), tensors.input(1), tensors.output(0));
  const auto description =
      fastest(given, spec.window, bias, [](const Convolution& c) { return c.forward; });
  auto program = std::make_unique<DnnlProgram>();
  const memory::desc x = description.src_desc(), w = description.weights_desc();
  const Operand image = program->reordered(Operand::input(0), given.x, x);
  const Operand weights = program->reordered(Operand::input(1), given.w, w);
  Result y(*program, given.y, description.dst_desc());
  std::vector<DnnlProgram::Argument> arguments = {
      {DNNL_ARG_SRC, x, image},
      {DNNL_ARG_WEIGHTS, w, weights},
      {DNNL_ARG_DST, description.dst_desc(), y.operand()}};
  if (bias)
    arguments.push_back({DNNL_ARG_BIAS, description.bias_desc(), Operand::input(2)});
  program->add(description, dnnl::convolution_forward(description), arguments);
  y.finish();
  return program;
}

std::unique_ptr<Kernel> backward_data(const OperatorSpec& spec,
                                      const KernelTensors& tensors) {
  using Backward = dnnl::convolution_backward_data;
  const Tensors given(spec.window, tensors.output(0), tensors.input(1), tensors.input(0));
  const auto description = fastest(given, spec.window, false, [](const Convolution& c) {
    return describe_backward<Backward>(c.forward, algorithm::convolution_direct, c.x,
                                       c.w_any, c.y, c.strides, c.dilations, c.begin,
                                       c.end);
  });
  auto program = std::make_unique<DnnlProgram>();
  const memory::desc g = description.diff_dst_desc(), w = description.weights_desc();
  const Operand gradient = program->reordered(Operand::input(0), given.y, g);
  const Operand weights = program->reordered(Operand::input(1), given.w, w);
  Result dx(*program, given.x, description.diff_src_desc());
  program->add(description, Backward(description),
               {{DNNL_ARG_DIFF_DST, g, gradient},
                {DNNL_ARG_WEIGHTS, w, weights},
                {DNNL_ARG_DIFF_SRC, description.diff_src_desc(), dx.operand()}});
  dx.finish();
  return program;
}

std::unique_ptr<Kernel> backward_weights(const OperatorSpec& spec,
                                         const KernelTensors& tensors) {
  using Backward = dnnl::convolution_backward_weights;
  const bool bias = tensors.has_output(1);
  const Tensors given(spec.window, tensors.input(0), tensors.output(0), tensors.input(1));
  const auto description =
      fastest(given, spec.window, bias, [bias](const Convolution& c) {
        const auto method = algorithm::convolution_direct;
        return bias ? describe_backward<Backward>(c.forward, method, c.x, c.w_any, c.b,
                                                  c.y, c.strides, c.dilations, c.begin,
                                                  c.end)
                    : describe_backward<Backward>(c.forward, method, c.x, c.w_any, c.y,
                                                  c.strides, c.dilations, c.begin, c.end);
      });
  auto program = std::make_unique<DnnlProgram>();
  const memory::desc x = description.src_desc(), g = description.diff_dst_desc();
  const Operand image = program->reordered(Operand::input(0), given.x, x);
  const Operand gradient = program->reordered(Operand::input(1), given.y, g);
  Result dw(*program, given.w, description.diff_weights_desc());
  std::vector<DnnlProgram::Argument> arguments = {
      {DNNL_ARG_SRC, x, image},
      {DNNL_ARG_DIFF_DST, g, gradient},
      {DNNL_ARG_DIFF_WEIGHTS, description.diff_weights_desc(), dw.operand()}};
  if (bias)
    arguments.push_back(
        {DNNL_ARG_DIFF_BIAS, description.diff_bias_desc(), Operand::output(1)});
  program->add(description, Backward(description), arguments);
  dw.finish();
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
