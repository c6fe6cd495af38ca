#include <algorithm>
#include <cmath>
#include <numbers>

#include "training/operators/function_kernel.h"
#include "training/operators/reference_kernels.h"
#include "training/operators/strided.h"

namespace espalier::training {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// tanh's argument in the approximation of Gelu, and its derivative.
constexpr double kGeluCubic = 0.044715;
double gelu_argument(double x) {
  return std::sqrt(2 / std::numbers::pi) * (x + kGeluCubic * x * x * x);
}
double gelu_slope(double x) {
  return std::sqrt(2 / std::numbers::pi) * (1 + 3 * kGeluCubic * x * x);
}

double value_of(const OperatorSpec& spec, double x) {
  switch (spec.unary) {
    case UnaryFunction::kRelu:
      return x > 0 ? x : 0;
    case UnaryFunction::kLeakyRelu:
      return x > 0 ? x : spec.alpha * x;
    case UnaryFunction::kElu:
      return x > 0 ? x : spec.alpha * std::expm1(x);
    case UnaryFunction::kSigmoid:
      return sigmoid(x);
    case UnaryFunction::kTanh:
      return std::tanh(x);
    case UnaryFunction::kGelu:
      return x * 0.5 * (1 + std::erf(x / std::numbers::sqrt2));
    case UnaryFunction::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(gelu_argument(x)));
    case UnaryFunction::kSwish:
      return x * sigmoid(x);
    case UnaryFunction::kHardSwish:
      return x * std::clamp(x + 3, 0.0, 6.0) / 6;
    case UnaryFunction::kExp:
      return std::exp(x);
    case UnaryFunction::kLog:
      return std::log(x);
    case UnaryFunction::kSqrt:
      return std::sqrt(x);
    case UnaryFunction::kAbs:
      return std::abs(x);
    case UnaryFunction::kSquare:
      return x * x;
    case UnaryFunction::kClip:
      return std::clamp(x, spec.alpha, spec.beta);
    case UnaryFunction::kPower:
      return std::pow(x, spec.alpha);
    default:  // linear
      return spec.alpha * x + spec.beta;
  }
}

// The derivative, from the result where uses_result().
double slope_from_result(const OperatorSpec& spec, double y) {
  switch (spec.unary) {
    case UnaryFunction::kRelu:
      return y > 0 ? 1 : 0;
    case UnaryFunction::kLeakyRelu:
      return y > 0 ? 1 : spec.alpha;
    case UnaryFunction::kElu:
      return y > 0 ? 1 : y + spec.alpha;
    case UnaryFunction::kSigmoid:
      return y * (1 - y);
    case UnaryFunction::kTanh:
      return 1 - y * y;
    case UnaryFunction::kSqrt:
      return 0.5 / y;
    default:  // the exponential
      return y;
  }
}

double slope_from_argument(const OperatorSpec& spec, double x) {
  switch (spec.unary) {
    case UnaryFunction::kLeakyRelu:
      return x > 0 ? 1 : spec.alpha;
    case UnaryFunction::kElu:
      return x > 0 ? 1 : spec.alpha * std::exp(x);
    case UnaryFunction::kGelu:
      return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)) +
             x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    case UnaryFunction::kGeluTanh: {
      const double t = std::tanh(gelu_argument(x));
      return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * gelu_slope(x);
    }
    case UnaryFunction::kSwish: {
      const double s = sigmoid(x);
      return s * (1 + x * (1 - s));
    }
    case UnaryFunction::kHardSwish:
      return x <= -3 ? 0 : x >= 3 ? 1 : (2 * x + 3) / 6;
    case UnaryFunction::kLog:
      return 1 / x;
    case UnaryFunction::kAbs:
      return x > 0 ? 1 : x < 0 ? -1 : 0;
    case UnaryFunction::kSquare:
      return 2 * x;
    case UnaryFunction::kPower:
      return spec.alpha * std::pow(x, spec.alpha - 1);
    case UnaryFunction::kClip:
      return x > spec.alpha && x <= spec.beta ? 1 : 0;
    default:  // linear
      return spec.alpha;
  }
}

std::unique_ptr<Kernel> unary(const OperatorSpec& spec, const KernelTensors& tensors) {
  return kernel_of([spec, count = tensors.output(0).elements()](const KernelCall& call) {
    const double* const x = read<double>(call, 0);
    double* const y = write<double>(call, 0);
    for (std::int64_t i = 0; i < count; ++i) y[i] = value_of(spec, x[i]);
  });
}

std::unique_ptr<Kernel> unary_backward(const OperatorSpec& spec,
                                       const KernelTensors& tensors) {
  return kernel_of([spec, count = tensors.output(0).elements()](const KernelCall& call) {
    const double *const kept = read<double>(call, 0), *const g = read<double>(call, 1);
    double* const dx = write<double>(call, 0);
    for (std::int64_t i = 0; i < count; ++i)
      dx[i] = g[i] * (uses_result(spec) ? slope_from_result(spec, kept[i])
                                        : slope_from_argument(spec, kept[i]));
  });
}

std::unique_ptr<Kernel> sum(const KernelTensors& tensors) {
  return kernel_of([inputs = tensors.inputs.size(),
                    count = tensors.output(0).elements()](const KernelCall& call) {
    double* const y = write<double>(call, 0);
    for (std::int64_t i = 0; i < count; ++i) {
      double all = 0;
      for (std::size_t j = 0; j < inputs; ++j) all += read<double>(call, j)[i];
      y[i] = all;
    }
  });
}

std::unique_ptr<Kernel> reduce(const OperatorSpec& spec, const KernelTensors& tensors) {
  const auto dims = tensors.input(0).dims;
  const Strided from = plain_strides(dims);
  const Strided to = broadcast_strides(tensors.output(0).dims, dims);
  return kernel_of([=, alpha = spec.alpha,
                    count = tensors.output(0).elements()](const KernelCall& call) {
    const double* const x = read<double>(call, 0);
    double* const y = write<double>(call, 0);
    std::fill_n(y, count, 0.0);
    for_each_element(dims, from, to,
                     [&](std::int64_t i, std::int64_t j) { y[j] += alpha * x[i]; });
  });
}

}  // namespace

std::unique_ptr<Kernel> make_reference_elementwise(const OperatorSpec& spec,
                                                   const KernelTensors& tensors) {
  switch (spec.kind) {
    case OperatorKind::kUnary:
      return unary(spec, tensors);
    case OperatorKind::kUnaryBackward:
      return unary_backward(spec, tensors);
    case OperatorKind::kSum:
      return sum(tensors);
    case OperatorKind::kReduce:
      return reduce(spec, tensors);
    default:
      return nullptr;
  }
}

}  // namespace espalier::training
