#include <utility>

#include "espalier/model/error.h"
#include "training/operators/dnnl_program.h"
#include "training/operators/plain_kernels.h"

namespace espalier::training {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;

struct Eltwise {
  algorithm method;
  float alpha, beta;
};

Eltwise eltwise_of(const OperatorSpec& spec) {
  const auto alpha = static_cast<float>(spec.alpha), beta = static_cast<float>(spec.beta);
  switch (spec.unary) {
    case UnaryFunction::kRelu:
      return {algorithm::eltwise_relu_use_dst_for_bwd, 0, 0};
    case UnaryFunction::kLeakyRelu:
      return {uses_result(spec) ? algorithm::eltwise_relu_use_dst_for_bwd
                                : algorithm::eltwise_relu,
              alpha, 0};
    case UnaryFunction::kElu:
      return {uses_result(spec) ? algorithm::eltwise_elu_use_dst_for_bwd
                                : algorithm::eltwise_elu,
              alpha, 0};
    case UnaryFunction::kSigmoid:
      return {algorithm::eltwise_logistic_use_dst_for_bwd, 0, 0};
    case UnaryFunction::kTanh:
      return {algorithm::eltwise_tanh_use_dst_for_bwd, 0, 0};
    case UnaryFunction::kGelu:
      return {algorithm::eltwise_gelu_erf, 0, 0};
    case UnaryFunction::kGeluTanh:
      return {algorithm::eltwise_gelu_tanh, 0, 0};
    case UnaryFunction::kSwish:
      return {algorithm::eltwise_swish, 1, 0};
    case UnaryFunction::kHardSwish:
      return {algorithm::eltwise_hardswish, 1.0F / 6, 0.5F};  // read by version 3
    case UnaryFunction::kExp:
      return {algorithm::eltwise_exp_use_dst_for_bwd, 0, 0};
    case UnaryFunction::kLog:
      return {algorithm::eltwise_log, 0, 0};
    case UnaryFunction::kSqrt:
      return {algorithm::eltwise_sqrt_use_dst_for_bwd, 0, 0};
    case UnaryFunction::kAbs:
      return {algorithm::eltwise_abs, 0, 0};
    case UnaryFunction::kSquare:
      return {algorithm::eltwise_square, 0, 0};
    case UnaryFunction::kClip:
      return {algorithm::eltwise_clip, alpha, beta};
    case UnaryFunction::kPower:
      return {algorithm::eltwise_pow, 1, alpha};
    default:  // linear
      break;
  }
  return {algorithm::eltwise_linear, alpha, beta};
}

dnnl::eltwise_forward::primitive_desc describe_eltwise(const Eltwise& eltwise,
                                                       const memory::desc& memory) {
  return describe<dnnl::eltwise_forward>(prop_kind::forward_training, eltwise.method,
                                         Alike{memory}, eltwise.alpha, eltwise.beta);
}

void add_eltwise(DnnlProgram& program, const Eltwise& eltwise, const memory::desc& memory,
                 Operand from, Operand to) {
  const auto description = describe_eltwise(eltwise, memory);
  program.add(description, dnnl::eltwise_forward(description),
              {{DNNL_ARG_SRC, memory, from}, {DNNL_ARG_DST, memory, to}});
}

std::unique_ptr<Kernel> unary(const OperatorSpec& spec, const KernelTensors& tensors) {
  auto program = std::make_unique<DnnlProgram>();
  add_eltwise(*program, eltwise_of(spec), describe_memory(tensors.input(0)),
              Operand::input(0), Operand::output(0));
  return program;
}

std::unique_ptr<Kernel> unary_backward(const OperatorSpec& spec,
                                       const KernelTensors& tensors) {
  const memory::desc memory = describe_memory(tensors.input(0));
  const Eltwise eltwise = eltwise_of(spec);
  const auto description = describe_backward<dnnl::eltwise_backward>(
      describe_eltwise(eltwise, memory), eltwise.method, Alike{memory}, memory,
      eltwise.alpha, eltwise.beta);
  auto program = std::make_unique<DnnlProgram>();
  program->add(
      description, dnnl::eltwise_backward(description),
      {{uses_result(spec) ? DNNL_ARG_DST : DNNL_ARG_SRC, memory, Operand::input(0)},
       {DNNL_ARG_DIFF_DST, memory, Operand::input(1)},
       {DNNL_ARG_DIFF_SRC, memory, Operand::output(0)}});
  return program;
}

// null: oneDNN broadcasts its second operand only, and to the shape of the first.
std::unique_ptr<Kernel> binary(const OperatorSpec& spec, const KernelTensors& tensors) {
  constexpr algorithm kMethods[] = {algorithm::binary_add, algorithm::binary_sub,
                                    algorithm::binary_mul, algorithm::binary_div};
  if (spec.binary > BinaryFunction::kDivide) return nullptr;
  const bool commutes =
      spec.binary != BinaryFunction::kSubtract && spec.binary != BinaryFunction::kDivide;
  std::int64_t first = 0, second = 1;
  const TensorShape& y = tensors.output(0);
  if (tensors.input(0).dims != y.dims && commutes) std::swap(first, second);
  const TensorShape& a = tensors.input(static_cast<std::size_t>(first));
  const TensorShape& b = tensors.input(static_cast<std::size_t>(second));
  if (a.dims != y.dims) return nullptr;
  memory::desc b_memory = describe_memory(b);
  if (b.rank() < y.rank()) {
    if (b.format != TensorFormat::kPlain) return nullptr;
    auto dims = b.dims;
    dims.insert(dims.begin(), static_cast<std::size_t>(y.rank() - b.rank()), 1);
    b_memory = plain_memory(dims);
  }
  const auto description =
      describe<dnnl::binary>(kMethods[static_cast<std::size_t>(spec.binary)],
                             describe_memory(a), b_memory, describe_memory(y));
  auto program = std::make_unique<DnnlProgram>();
  program->add(description, dnnl::binary(description),
               {{DNNL_ARG_SRC_0, describe_memory(a), Operand::input(first)},
                {DNNL_ARG_SRC_1, b_memory, Operand::input(second)},
                {DNNL_ARG_DST, describe_memory(y), Operand::output(0)}});
  return program;
}

std::unique_ptr<Kernel> sum(const KernelTensors& tensors) {
  std::vector<memory::desc> memories;
  std::vector<DnnlProgram::Argument> arguments;
  for (std::size_t i = 0; i < tensors.inputs.size(); ++i) {
    memories.push_back(describe_memory(tensors.input(i)));
    const auto number = static_cast<std::int64_t>(i);
    arguments.push_back({DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), memories.back(),
                         Operand::input(number)});
  }
  const memory::desc y = describe_memory(tensors.output(0));
  arguments.push_back({DNNL_ARG_DST, y, Operand::output(0)});
  const auto description =
      describe_joined<dnnl::sum>(y, std::vector<float>(memories.size(), 1.0F), memories);
  auto program = std::make_unique<DnnlProgram>();
  program->add(description, dnnl::sum(description), arguments);
  return program;
}

std::unique_ptr<Kernel> reduce(const OperatorSpec& spec, const KernelTensors& tensors) {
  const TensorShape &x = tensors.input(0), &y = tensors.output(0);
  auto dims = y.dims;
  dims.insert(dims.begin(), static_cast<std::size_t>(x.rank() - y.rank()), 1);
  const memory::desc to = plain_memory(dims);
  auto program = std::make_unique<DnnlProgram>();
  if (dims == x.dims) {
    program->add_reorder(Operand::input(0), describe_memory(x), Operand::output(0), to);
  } else {
    const auto description = describe<dnnl::reduction>(
        algorithm::reduction_sum, describe_memory(x), to, 0.0F, 0.0F);
    program->add(description, dnnl::reduction(description),
                 {{DNNL_ARG_SRC, describe_memory(x), Operand::input(0)},
                  {DNNL_ARG_DST, to, Operand::output(0)}});
  }
  if (spec.alpha != 1)
    add_eltwise(*program,
                {algorithm::eltwise_linear, static_cast<float>(spec.alpha), 0.0F}, to,
                Operand::output(0), Operand::output(0));
  return program;
}

}  // namespace

std::unique_ptr<Kernel> make_dnnl_elementwise(const OperatorSpec& spec,
                                              const KernelTensors& tensors) {
  switch (spec.kind) {
    case OperatorKind::kUnary:
      return unary(spec, tensors);
    case OperatorKind::kUnaryBackward:
      return unary_backward(spec, tensors);
    case OperatorKind::kBinary:
      return binary(spec, tensors);
    case OperatorKind::kSum:
      return sum(tensors);
    case OperatorKind::kReduce:
      return sums_columns(tensors) ? nullptr : reduce(spec, tensors);
    default:
      return nullptr;
  }
}

}  // namespace espalier::training
