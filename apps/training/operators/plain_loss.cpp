#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "espalier/model/error.h"
#include "training/operators/function_kernel.h"
#include "training/operators/plain_kernels.h"

namespace espalier::training {
namespace {

// x as rows of classes, with a label for each.
struct Rows {
  std::int64_t rows, classes;
  ElementType type;  // of the labels
};

Rows rows_of(const TensorShape& x, const TensorShape& labels) {
  const std::int64_t classes = x.dim(-1);
  const Rows rows{x.elements() / std::max<std::int64_t>(1, classes), classes,
                  labels.type};
  if (labels.elements() != rows.rows || rows.rows == 0)
    throw InvalidInput(
        fmt::format("{} labels for {} rows", labels.elements(), rows.rows));
  if (labels.type != ElementType::kInt64 && labels.type != ElementType::kInt32)
    throw InvalidInput("labels are not whole numbers");
  return rows;
}

std::int64_t label_of(const Rows& shape, const std::byte* labels, std::int64_t row) {
  const std::int64_t label = shape.type == ElementType::kInt64
                                 ? reinterpret_cast<const std::int64_t*>(labels)[row]
                                 : reinterpret_cast<const std::int32_t*>(labels)[row];
  if (label < 0 || label >= shape.classes)
    throw InvalidInput(
        fmt::format("label {} of row {} is not in [0, {})", label, row, shape.classes));
  return label;
}

// @return the logarithm of the sum of exponentials
template <class T>
double softmax_row(const T* x, T* probabilities, std::int64_t classes) {
  const double most = *std::max_element(x, x + classes);
  double sum = 0;
  for (std::int64_t j = 0; j < classes; ++j)
    sum += std::exp(static_cast<double>(x[j]) - most);
  const double log_sum = most + std::log(sum);
  for (std::int64_t j = 0; j < classes; ++j)
    probabilities[j] = static_cast<T>(std::exp(static_cast<double>(x[j]) - log_sum));
  return log_sum;
}

// Losses of the rows are kept in scratch memory and added in their order, so that the
// sum does not depend on the threads.
template <class T>
std::unique_ptr<Kernel> cross_entropy(const KernelTensors& tensors) {
  const Rows shape = rows_of(tensors.input(0), tensors.input(1));
  return kernel_of(
      [shape](const KernelCall& call) {
        const T* const x = read<T>(call, 0);
        T* const probabilities = write<T>(call, 1);
        auto* const losses = reinterpret_cast<double*>(call.scratch);
        for (std::int64_t row = 0; row < shape.rows; ++row)
          losses[row] = static_cast<double>(
              x[row * shape.classes + label_of(shape, call.inputs[1], row)]);
#pragma omp parallel for if (shape.rows * shape.classes >= kWorthThreads)
        for (std::int64_t row = 0; row < shape.rows; ++row) {
          const std::int64_t first = row * shape.classes;
          losses[row] =
              softmax_row(x + first, probabilities + first, shape.classes) - losses[row];
        }
        double sum = 0;
        for (std::int64_t row = 0; row < shape.rows; ++row) sum += losses[row];
        *write<T>(call, 0) = static_cast<T>(sum / static_cast<double>(shape.rows));
      },
      checked_mul(shape.rows, 8));
}

template <class T>
std::unique_ptr<Kernel> cross_entropy_backward(const KernelTensors& tensors) {
  const Rows shape = rows_of(tensors.input(0), tensors.input(1));
  return kernel_of([shape](const KernelCall& call) {
    const T* const probabilities = read<T>(call, 0);
    T* const dx = write<T>(call, 0);
    const T part = static_cast<T>(1 / static_cast<double>(shape.rows));
    for (std::int64_t row = 0; row < shape.rows; ++row) {
      const std::int64_t first = row * shape.classes;
      const std::int64_t label = label_of(shape, call.inputs[1], row);
      for (std::int64_t j = 0; j < shape.classes; ++j)
        dx[first + j] = part * (probabilities[first + j] - (j == label ? T(1) : T(0)));
    }
  });
}

// No smaller than what is told from 0, so that a loss is a number.
template <class T>
T at_least_tiny(T y) {
  return std::max(y, std::numeric_limits<T>::min());
}

template <class T>
std::unique_ptr<Kernel> log_loss(const KernelTensors& tensors) {
  const Rows shape = rows_of(tensors.input(0), tensors.input(1));
  return kernel_of([shape](const KernelCall& call) {
    const T* const y = read<T>(call, 0);
    double sum = 0;
    for (std::int64_t row = 0; row < shape.rows; ++row) {
      const T likely = y[row * shape.classes + label_of(shape, call.inputs[1], row)];
      sum -= std::log(static_cast<double>(at_least_tiny(likely)));
    }
    *write<T>(call, 0) = static_cast<T>(sum / static_cast<double>(shape.rows));
  });
}

template <class T>
std::unique_ptr<Kernel> log_loss_backward(const KernelTensors& tensors) {
  const Rows shape = rows_of(tensors.input(0), tensors.input(1));
  return kernel_of([shape](const KernelCall& call) {
    const T* const y = read<T>(call, 0);
    T* const dy = write<T>(call, 0);
    for (std::int64_t row = 0; row < shape.rows; ++row) {
      const std::int64_t place =
          row * shape.classes + label_of(shape, call.inputs[1], row);
      const T likely = at_least_tiny(y[place]);
      std::fill_n(dy + row * shape.classes, shape.classes, T(0));
      dy[place] = -1 / (likely * static_cast<T>(shape.rows));
    }
  });
}

}  // namespace

template <class T>
std::unique_ptr<Kernel> make_plain_loss(const OperatorSpec& spec,
                                        const KernelTensors& tensors) {
  switch (spec.kind) {
    case OperatorKind::kCrossEntropy:
      return cross_entropy<T>(tensors);
    case OperatorKind::kCrossEntropyBackward:
      return cross_entropy_backward<T>(tensors);
    case OperatorKind::kLogLoss:
      return log_loss<T>(tensors);
    case OperatorKind::kLogLossBackward:
      return log_loss_backward<T>(tensors);
    default:
      return nullptr;
  }
}

template std::unique_ptr<Kernel> make_plain_loss<float>(const OperatorSpec&,
                                                        const KernelTensors&);
template std::unique_ptr<Kernel> make_plain_loss<double>(const OperatorSpec&,
                                                         const KernelTensors&);

}  // namespace espalier::training
