#include <fmt/format.h>

#include <cmath>

#include "espalier/model/error.h"
#include "training/operators/function_kernel.h"
#include "training/operators/instantiate.h"
#include "training/operators/plain_kernels.h"

namespace espalier::training {
namespace {

// All tensors of an update are as large as the parameter.
std::int64_t count_of(const KernelTensors& tensors, std::size_t inputs) {
  const std::int64_t count = tensors.input(0).elements();
  for (std::size_t i = 1; i < inputs; ++i)
    if (tensors.input(i).elements() != count)
      throw InvalidInput(fmt::format("input {} is {}, the parameter {}", i + 1,
                                     describe(tensors.input(i)),
                                     describe(tensors.input(0))));
  return count;
}

template <class T>
std::unique_ptr<Kernel> sgd(const UpdateRule& rule, const KernelTensors& tensors) {
  const std::int64_t count = count_of(tensors, 2);
  const auto rate = static_cast<T>(rule.rate), decay = static_cast<T>(rule.weight_decay);
  const auto scale = static_cast<T>(rule.gradient_scale);
  return kernel_of([=](const KernelCall& call) {
    T* const w = change<T>(call, 0);
    const T* const dw = read<T>(call, 1);
#pragma omp parallel for if (count >= kWorthThreads)
    for (std::int64_t i = 0; i < count; ++i)
      w[i] -= rate * (scale * dw[i] + decay * w[i]);
  });
}

template <class T>
std::unique_ptr<Kernel> momentum(const UpdateRule& rule, const KernelTensors& tensors) {
  const std::int64_t count = count_of(tensors, 3);
  const auto rate = static_cast<T>(rule.rate), decay = static_cast<T>(rule.weight_decay);
  const auto keep = static_cast<T>(rule.momentum);
  const auto scale = static_cast<T>(rule.gradient_scale);
  return kernel_of([=](const KernelCall& call) {
    T *const w = change<T>(call, 0), *const velocity = change<T>(call, 1);
    const T* const dw = read<T>(call, 2);
#pragma omp parallel for if (count >= kWorthThreads)
    for (std::int64_t i = 0; i < count; ++i) {
      velocity[i] = keep * velocity[i] + (scale * dw[i] + decay * w[i]);
      w[i] -= rate * velocity[i];
    }
  });
}

template <class T>
std::unique_ptr<Kernel> adam(const UpdateRule& rule, const KernelTensors& tensors) {
  const std::int64_t count = count_of(tensors, 4);
  return kernel_of([=](const KernelCall& call) {
    T* const w = change<T>(call, 0);
    T *const first = change<T>(call, 1), *const second = change<T>(call, 2);
    const T* const dw = read<T>(call, 3);
    const auto turn = static_cast<double>(call.step + 1);
    const double bias1 = 1 - std::pow(rule.beta1, turn);
    const double bias2 = 1 - std::pow(rule.beta2, turn);
    const auto beta1 = static_cast<T>(rule.beta1), beta2 = static_cast<T>(rule.beta2);
    const auto rest1 = static_cast<T>(1 - rule.beta1);
    const auto rest2 = static_cast<T>(1 - rule.beta2);
    const auto rate = static_cast<T>(rule.rate / bias1);
    const auto root = static_cast<T>(1 / std::sqrt(bias2));
    const auto epsilon = static_cast<T>(rule.epsilon);
    const auto decay = static_cast<T>(rule.weight_decay);
    const auto scale = static_cast<T>(rule.gradient_scale);
#pragma omp parallel for if (count >= kWorthThreads)
    for (std::int64_t i = 0; i < count; ++i) {
      const T g = scale * dw[i] + decay * w[i];
      first[i] = beta1 * first[i] + rest1 * g;
      second[i] = beta2 * second[i] + rest2 * g * g;
      w[i] -= rate * first[i] / (std::sqrt(second[i]) * root + epsilon);
    }
  });
}

}  // namespace

template <class T>
std::unique_ptr<Kernel> make_plain_update(const OperatorSpec& spec,
                                          const KernelTensors& tensors) {
  switch (spec.kind) {
    case OperatorKind::kSgd:
      return sgd<T>(spec.update, tensors);
    case OperatorKind::kMomentum:
      return momentum<T>(spec.update, tensors);
    case OperatorKind::kAdam:
      return adam<T>(spec.update, tensors);
    default:
      return nullptr;
  }
}

ESPALIER_FOR_REAL_ELEMENTS(make_plain_update)

}  // namespace espalier::training
