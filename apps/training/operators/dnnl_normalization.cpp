#include <utility>

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

dnnl::batch_normalization_forward::primitive_desc batch_forward(const OperatorSpec& spec,
                                                                const memory::desc& x) {
  return {{prop_kind::forward_training, x, static_cast<float>(spec.epsilon), kAffine},
          dnnl_attributes(),
          dnnl_engine()};
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
  const dnnl::batch_normalization_backward::primitive_desc description(
      {prop_kind::backward, x, x, static_cast<float>(spec.epsilon), kAffine},
      dnnl_attributes(), dnnl_engine(), forward);
  auto program = std::make_unique<DnnlProgram>();
  program->add(description, dnnl::batch_normalization_backward(description),
               {{DNNL_ARG_SRC, x, Operand::input(0)},
                {DNNL_ARG_SCALE, channels, Operand::input(1)},
                {DNNL_ARG_SHIFT, channels, Operand::input(1)},  // asked for, not read
                {DNNL_ARG_MEAN, description.mean_desc(), Operand::input(2)},
                {DNNL_ARG_VARIANCE, description.variance_desc(), Operand::input(3)},
                {DNNL_ARG_DIFF_DST, x, Operand::input(4)},
                {DNNL_ARG_DIFF_SRC, x, Operand::output(0)},
                {DNNL_ARG_DIFF_SCALE, channels, Operand::output(1)},
                {DNNL_ARG_DIFF_SHIFT, channels, Operand::output(2)}});
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
  return {{prop_kind::forward_training, rows.x, rows.statistics,
           static_cast<float>(spec.epsilon), kAffine},
          dnnl_attributes(),
          dnnl_engine()};
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
  const dnnl::layer_normalization_backward::primitive_desc description(
      {prop_kind::backward, rows.x, rows.x, rows.statistics,
       static_cast<float>(spec.epsilon), kAffine},
      dnnl_attributes(), dnnl_engine(), forward);
  auto program = std::make_unique<DnnlProgram>();
  program->add(description, dnnl::layer_normalization_backward(description),
               {{DNNL_ARG_SRC, rows.x, Operand::input(0)},
                {DNNL_ARG_SCALE, rows.affine, Operand::input(1)},
                {DNNL_ARG_SHIFT, rows.affine, Operand::input(1)},  // asked for, not read
                {DNNL_ARG_MEAN, rows.statistics, Operand::input(2)},
                {DNNL_ARG_VARIANCE, rows.statistics, Operand::input(3)},
                {DNNL_ARG_DIFF_DST, rows.x, Operand::input(4)},
                {DNNL_ARG_DIFF_SRC, rows.x, Operand::output(0)},
                {DNNL_ARG_DIFF_SCALE, rows.affine, Operand::output(1)},
                {DNNL_ARG_DIFF_SHIFT, rows.affine, Operand::output(2)}});
  return program;
}

dnnl::lrn_forward::primitive_desc local_forward(const OperatorSpec& spec,
                                                const memory::desc& x, prop_kind prop) {
  return {{prop, dnnl::algorithm::lrn_across_channels, x, spec.size,
           static_cast<float>(spec.alpha), static_cast<float>(spec.beta),
           static_cast<float>(spec.bias)},
          dnnl_attributes(),
          dnnl_engine()};
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
  const dnnl::lrn_backward::primitive_desc description(
      {dnnl::algorithm::lrn_across_channels, x, x, spec.size,
       static_cast<float>(spec.alpha), static_cast<float>(spec.beta),
       static_cast<float>(spec.bias)},
      dnnl_attributes(), dnnl_engine(), forward);
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

// Softmax and its logarithm, which oneDNN keeps apart.
template <class Forward>
typename Forward::primitive_desc softmax_forward(const OperatorSpec& spec,
                                                 const TensorShape& x) {
  const auto axis = static_cast<int>(spec.axis < 0 ? spec.axis + x.rank() : spec.axis);
  return {{prop_kind::forward_training, describe_memory(x), axis},
          dnnl_attributes(),
          dnnl_engine()};
}

template <class Forward>
std::unique_ptr<Kernel> softmax(const OperatorSpec& spec, const KernelTensors& tensors) {
  const auto description = softmax_forward<Forward>(spec, tensors.input(0));
  const memory::desc x = describe_memory(tensors.input(0));
  auto program = std::make_unique<DnnlProgram>();
  program->add(
      description, Forward(description),
      {{DNNL_ARG_SRC, x, Operand::input(0)}, {DNNL_ARG_DST, x, Operand::output(0)}});
  return program;
}

template <class Forward, class Backward>
std::unique_ptr<Kernel> softmax_backward(const OperatorSpec& spec,
                                         const KernelTensors& tensors) {
  const auto forward = softmax_forward<Forward>(spec, tensors.input(0));
  const memory::desc x = describe_memory(tensors.input(0));
  const auto axis =
      static_cast<int>(spec.axis < 0 ? spec.axis + tensors.input(0).rank() : spec.axis);
  const typename Backward::primitive_desc description({x, x, axis}, dnnl_attributes(),
                                                      dnnl_engine(), forward);
  auto program = std::make_unique<DnnlProgram>();
  program->add(description, Backward(description),
               {{DNNL_ARG_DST, x, Operand::input(0)},
                {DNNL_ARG_DIFF_DST, x, Operand::input(1)},
                {DNNL_ARG_DIFF_SRC, x, Operand::output(0)}});
  return program;
}

}  // namespace

std::unique_ptr<Kernel> make_dnnl_normalization(const OperatorSpec& spec,
                                                const KernelTensors& tensors) {
  using dnnl::logsoftmax_backward;
  using dnnl::logsoftmax_forward;
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
      return local_norm(spec, tensors);
    case OperatorKind::kLocalNormBackward:
      return local_norm_backward(spec, tensors);
    case OperatorKind::kSoftmax:
      return spec.logarithm ? softmax<logsoftmax_forward>(spec, tensors)
                            : softmax<dnnl::softmax_forward>(spec, tensors);
    case OperatorKind::kSoftmaxBackward:
      return spec.logarithm
                 ? softmax_backward<logsoftmax_forward, logsoftmax_backward>(spec,
                                                                             tensors)
                 : softmax_backward<dnnl::softmax_forward, dnnl::softmax_backward>(
                       spec, tensors);
    default:
      return nullptr;
  }
}

}  // namespace espalier::training
