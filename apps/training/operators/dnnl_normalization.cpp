#include <utility>
#include <vector>

#include "espalier/model/error.h"
#include "training/operators/dnnl_program.h"

namespace espalier::training {
namespace {

using dnnl::memory;
using dnnl::normalization_flags;
using dnnl::prop_kind;

const normalization_flags kAffine =
    normalization_flags::use_scale | normalization_flags::use_shift;

// Batch normalisation, which also updates the running averages it is given.
class BatchNorm : public Kernel {
 public:
  BatchNorm(std::unique_ptr<DnnlProgram> program, const OperatorSpec& spec,
            const KernelTensors& tensors)
      : program_(std::move(program)),
        keep_(static_cast<float>(spec.momentum)),
        channels_(tensors.has_input(3) ? tensors.input(3).elements() : 0) {}

  [[nodiscard]] Bytes scratch_bytes() const override { return program_->scratch_bytes(); }
  void run(const KernelCall& call) override {
    program_->run(call);
    for (std::size_t which = 0; which < 2 && channels_ > 0; ++which) {
      auto* const average = reinterpret_cast<float*>(call.inputs[3 + which]);
      const auto* const now = reinterpret_cast<const float*>(call.outputs[1 + which]);
      for (std::int64_t i = 0; i < channels_; ++i)
        average[i] = keep_ * average[i] + (1 - keep_) * now[i];
    }
  }

 private:
  std::unique_ptr<DnnlProgram> program_;
  float keep_;
  std::int64_t channels_;
};

// x, scale, mean, variance and the gradient to those of x, scale and shift.
// @param shift  is asked for, but not read
std::vector<DnnlProgram::Argument> arguments_backward(const memory::desc& x,
                                                      const memory::desc& affine,
                                                      const memory::desc& statistics,
                                                      bool shift) {
  std::vector<DnnlProgram::Argument> arguments = {
      {DNNL_ARG_SRC, x, Operand::input(0)},
      {DNNL_ARG_SCALE, affine, Operand::input(1)},
      {DNNL_ARG_MEAN, statistics, Operand::input(2)},
      {DNNL_ARG_VARIANCE, statistics, Operand::input(3)},
      {DNNL_ARG_DIFF_DST, x, Operand::input(4)},
      {DNNL_ARG_DIFF_SRC, x, Operand::output(0)},
      {DNNL_ARG_DIFF_SCALE, affine, Operand::output(1)},
      {DNNL_ARG_DIFF_SHIFT, affine, Operand::output(2)}};
  if (shift) arguments.push_back({DNNL_ARG_SHIFT, affine, Operand::input(1)});
  return arguments;
}

dnnl::batch_normalization_forward::primitive_desc batch_forward(const OperatorSpec& spec,
                                                                const memory::desc& x) {
  return describe<dnnl::batch_normalization_forward>(
      prop_kind::forward_training, Alike{x}, static_cast<float>(spec.epsilon), kAffine);
}

std::unique_ptr<Kernel> batch_norm(const OperatorSpec& spec,
                                   const KernelTensors& tensors) {
  const memory::desc x = describe_memory(tensors.input(0));
  const memory::desc channels = plain_memory({tensors.input(0).dim(1)});
  const auto description = batch_forward(spec, x);
  auto program = std::make_unique<DnnlProgram>();
  program->add(description, dnnl::batch_normalization_forward(description),
               {{DNNL_ARG_SRC, x, Operand::input(0)},
                {DNNL_ARG_SCALE, channels, Operand::input(1)},
                {DNNL_ARG_SHIFT, channels, Operand::input(2)},
                {DNNL_ARG_DST, x, Operand::output(0)},
                {DNNL_ARG_MEAN, description.mean_desc(), Operand::output(1)},
                {DNNL_ARG_VARIANCE, description.variance_desc(), Operand::output(2)}});
  return std::make_unique<BatchNorm>(std::move(program), spec, tensors);
}

std::unique_ptr<Kernel> batch_norm_backward(const OperatorSpec& spec,
                                            const KernelTensors& tensors) {
  const memory::desc x = describe_memory(tensors.input(0));
  const memory::desc channels = plain_memory({tensors.input(0).dim(1)});
  const auto forward = batch_forward(spec, x);
  const auto description = describe_backward<dnnl::batch_normalization_backward>(
      forward, prop_kind::backward, Alike{x}, x, static_cast<float>(spec.epsilon),
      kAffine);
  auto program = std::make_unique<DnnlProgram>();
  program->add(
      description, dnnl::batch_normalization_backward(description),
      arguments_backward(x, channels, description.mean_desc(), kBatchShiftBackward));
  return program;
}

// x as rows of what is normalised together.
struct Rows {
  memory::desc x, statistics, affine;
};
Rows rows_of(const OperatorSpec& spec, const TensorShape& x) {
  const std::int64_t axis = spec.axis < 0 ? spec.axis + x.rank() : spec.axis;
  std::int64_t rows = 1, columns = 1;
  for (std::int64_t i = 0; i < x.rank(); ++i) (i < axis ? rows : columns) *= x.dim(i);
  return {plain_memory({rows, columns}), plain_memory({rows}), plain_memory({columns})};
}

dnnl::layer_normalization_forward::primitive_desc layer_forward(const OperatorSpec& spec,
                                                                const Rows& rows) {
  return describe<dnnl::layer_normalization_forward>(
      prop_kind::forward_training, Alike{rows.x}, rows.statistics,
      static_cast<float>(spec.epsilon), kAffine);
}

std::unique_ptr<Kernel> layer_norm(const OperatorSpec& spec,
                                   const KernelTensors& tensors) {
  const Rows rows = rows_of(spec, tensors.input(0));
  const auto description = layer_forward(spec, rows);
  auto program = std::make_unique<DnnlProgram>();
  program->add(description, dnnl::layer_normalization_forward(description),
               {{DNNL_ARG_SRC, rows.x, Operand::input(0)},
                {DNNL_ARG_SCALE, rows.affine, Operand::input(1)},
                {DNNL_ARG_SHIFT, rows.affine, Operand::input(2)},
                {DNNL_ARG_DST, rows.x, Operand::output(0)},
                {DNNL_ARG_MEAN, rows.statistics, Operand::output(1)},
                {DNNL_ARG_VARIANCE, rows.statistics, Operand::output(2)}});
  return program;
}

std::unique_ptr<Kernel> layer_norm_backward(const OperatorSpec& spec,
                                            const KernelTensors& tensors) {
  const Rows rows = rows_of(spec, tensors.input(0));
  const auto forward = layer_forward(spec, rows);
  const auto description = describe_backward<dnnl::layer_normalization_backward>(
      forward, prop_kind::backward, Alike{rows.x}, rows.x, rows.statistics,
      static_cast<float>(spec.epsilon), kAffine);
  auto program = std::make_unique<DnnlProgram>();
  program->add(description, dnnl::layer_normalization_backward(description),
               arguments_backward(rows.x, rows.affine, rows.statistics, true));
  return program;
}

dnnl::lrn_forward::primitive_desc local_forward(const OperatorSpec& spec,
                                                const memory::desc& x, prop_kind prop) {
  return describe<dnnl::lrn_forward>(prop, dnnl::algorithm::lrn_across_channels, Alike{x},
                                     spec.size, static_cast<float>(spec.alpha),
                                     static_cast<float>(spec.beta),
                                     static_cast<float>(spec.bias));
}

std::unique_ptr<Kernel> local_norm(const OperatorSpec& spec,
                                   const KernelTensors& tensors) {
  const memory::desc x = describe_memory(tensors.input(0));
  const auto description = local_forward(spec, x, prop_kind::forward_inference);
  auto program = std::make_unique<DnnlProgram>();
  program->add(
      description, dnnl::lrn_forward(description),
      {{DNNL_ARG_SRC, x, Operand::input(0)}, {DNNL_ARG_DST, x, Operand::output(0)}});
  return program;
}

// What the forward primitive would keep is made again, in scratch memory.
std::unique_ptr<Kernel> local_norm_backward(const OperatorSpec& spec,
                                            const KernelTensors& tensors) {
  const memory::desc x = describe_memory(tensors.input(0));
  const auto forward = local_forward(spec, x, prop_kind::forward_training);
  const auto description = describe_backward<dnnl::lrn_backward>(
      forward, dnnl::algorithm::lrn_across_channels, Alike{x}, x, spec.size,
      static_cast<float>(spec.alpha), static_cast<float>(spec.beta),
      static_cast<float>(spec.bias));
  auto program = std::make_unique<DnnlProgram>();
  const memory::desc kept = forward.workspace_desc();
  std::vector<DnnlProgram::Argument> backward = {
      {DNNL_ARG_SRC, x, Operand::input(0)},
      {DNNL_ARG_DIFF_DST, x, Operand::input(1)},
      {DNNL_ARG_DIFF_SRC, x, Operand::output(0)}};
  if (kept.get_size() > 0) {
    const Operand y = program->scratch(x), workspace = program->scratch(kept);
    program->add(forward, dnnl::lrn_forward(forward),
                 {{DNNL_ARG_SRC, x, Operand::input(0)},
                  {DNNL_ARG_DST, x, y},
                  {DNNL_ARG_WORKSPACE, kept, workspace}});
    backward.push_back({DNNL_ARG_WORKSPACE, kept, workspace});
  }
  program->add(description, dnnl::lrn_backward(description), backward);
  return program;
}

// Softmax or its logarithm.
struct Softmax {
  memory::desc x;
  dnnl::algorithm method;
  int axis;
  SoftmaxForward::primitive_desc forward;

  Softmax(const OperatorSpec& spec, const TensorShape& shape)
      : x(describe_memory(shape)),
        method(spec.logarithm ? dnnl::algorithm::softmax_log
                              : dnnl::algorithm::softmax_accurate),
        axis(static_cast<int>(spec.axis < 0 ? spec.axis + shape.rank() : spec.axis)),
        forward(
            describe<SoftmaxForward>(prop_kind::forward_training, method, x, x, axis)) {}
};

std::unique_ptr<Kernel> softmax(const OperatorSpec& spec, const KernelTensors& tensors) {
  const Softmax of(spec, tensors.input(0));
  auto program = std::make_unique<DnnlProgram>();
  program->add(of.forward, SoftmaxForward(of.forward),
               {{DNNL_ARG_SRC, of.x, Operand::input(0)},
                {DNNL_ARG_DST, of.x, Operand::output(0)}});
  return program;
}

std::unique_ptr<Kernel> softmax_backward(const OperatorSpec& spec,
                                         const KernelTensors& tensors) {
  const Softmax of(spec, tensors.input(0));
  const auto description = describe_backward<SoftmaxBackward>(of.forward, of.method, of.x,
                                                              of.x, of.x, of.axis);
  auto program = std::make_unique<DnnlProgram>();
  program->add(description, SoftmaxBackward(description),
               {{DNNL_ARG_DST, of.x, Operand::input(0)},
                {DNNL_ARG_DIFF_DST, of.x, Operand::input(1)},
                {DNNL_ARG_DIFF_SRC, of.x, Operand::output(0)}});
  return program;
}

}  // namespace

std::unique_ptr<Kernel> make_dnnl_normalization(const OperatorSpec& spec,
                                                const KernelTensors& tensors) {
  switch (spec.kind) {
    case OperatorKind::kBatchNorm:
      return batch_norm(spec, tensors);
    case OperatorKind::kBatchNormBackward:
      return batch_norm_backward(spec, tensors);
    case OperatorKind::kLayerNorm:
      return layer_norm(spec, tensors);
    case OperatorKind::kLayerNormBackward:
      return layer_norm_backward(spec, tensors);
    case OperatorKind::kLocalNorm:
      return spec.size % 2 == 0 ? nullptr : local_norm(spec, tensors);
    case OperatorKind::kLocalNormBackward:
      return spec.size % 2 == 0 ? nullptr : local_norm_backward(spec, tensors);
    case OperatorKind::kSoftmax:
      return softmax(spec, tensors);
    case OperatorKind::kSoftmaxBackward:
      return softmax_backward(spec, tensors);
    default:
      return nullptr;
  }
}

}  // namespace espalier::training
