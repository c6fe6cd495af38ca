// Functions of one element that oneDNN has no primitive for.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "training/operators/function_kernel.h"
#include "training/operators/instantiate.h"
#include "training/operators/plain_kernels.h"

namespace espalier::training {
namespace {

template <class T>
T value_of(UnaryFunction function, T x, T alpha, T beta) {
  switch (function) {
    case UnaryFunction::kSelu:
      return beta * (x > 0 ? x : alpha * std::expm1(x));
    case UnaryFunction::kReciprocal:
      return 1 / x;
    case UnaryFunction::kHardSigmoid:
      return std::clamp(alpha * x + beta, T(0), T(1));
    case UnaryFunction::kSoftplus:
      return std::max(x, T(0)) + std::log1p(std::exp(-std::abs(x)));
    default:
      return std::erf(x);
  }
}

// The derivative, from the result where uses_result().
template <class T>
T slope_of(UnaryFunction function, T kept, T alpha, T beta) {
  switch (function) {
    case UnaryFunction::kSelu:
      if (alpha < 0 || beta < 0)  // of the argument
        return kept > 0 ? beta : alpha * beta * std::exp(kept);
      return kept > 0 ? beta : kept + alpha * beta;
    case UnaryFunction::kReciprocal:
      return -kept * kept;
    case UnaryFunction::kHardSigmoid: {
      const T line = alpha * kept + beta;
      return line > 0 && line < 1 ? alpha : T(0);
    }
    case UnaryFunction::kSoftplus:
      return 1 / (1 + std::exp(-kept));
    default:
      return 2 * std::numbers::inv_sqrtpi_v<T> * std::exp(-kept * kept);
  }
}

bool is_plain(UnaryFunction function) {
  return function == UnaryFunction::kSelu || function == UnaryFunction::kReciprocal ||
         function == UnaryFunction::kHardSigmoid ||
         function == UnaryFunction::kSoftplus || function == UnaryFunction::kErf;
}

template <class T>
std::unique_ptr<Kernel> unary(const OperatorSpec& spec, const KernelTensors& tensors) {
  const std::int64_t count = tensors.output(0).elements();
  return kernel_of([=, function = spec.unary, alpha = static_cast<T>(spec.alpha),
                    beta = static_cast<T>(spec.beta)](const KernelCall& call) {
    const T* const x = read<T>(call, 0);
    T* const y = write<T>(call, 0);
#pragma omp parallel for if (count >= kWorthThreads)
    for (std::int64_t i = 0; i < count; ++i) y[i] = value_of(function, x[i], alpha, beta);
  });
}

template <class T>
std::unique_ptr<Kernel> unary_backward(const OperatorSpec& spec,
                                       const KernelTensors& tensors) {
  const std::int64_t count = tensors.output(0).elements();
  return kernel_of([=, function = spec.unary, alpha = static_cast<T>(spec.alpha),
                    beta = static_cast<T>(spec.beta)](const KernelCall& call) {
    const T *const kept = read<T>(call, 0), *const g = read<T>(call, 1);
    T* const dx = write<T>(call, 0);
#pragma omp parallel for if (count >= kWorthThreads)
    for (std::int64_t i = 0; i < count; ++i)
      dx[i] = g[i] * slope_of(function, kept[i], alpha, beta);
  });
}

}  // namespace

template <class T>
std::unique_ptr<Kernel> make_plain_unary(const OperatorSpec& spec,
                                         const KernelTensors& tensors) {
  if (!is_plain(spec.unary)) return nullptr;
  if (spec.kind == OperatorKind::kUnary) return unary<T>(spec, tensors);
  if (spec.kind == OperatorKind::kUnaryBackward) return unary_backward<T>(spec, tensors);
  return nullptr;
}

ESPALIER_FOR_REAL_ELEMENTS(make_plain_unary)

}  // namespace espalier::training
