#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "espalier/model/error.h"
#include "training/operators/function_kernel.h"
#include "training/operators/instantiate.h"
#include "training/operators/plain_kernels.h"

namespace espalier::training {
namespace {

// x as rows of classes, with a label for each; a negative one: the row counts nothing.
struct LossRows {
  std::int64_t rows, classes;
  ElementType type;  // of the labels
};

LossRows rows_of(const OperatorSpec& spec, const TensorShape& x,
                 const TensorShape& labels) {
  const std::int64_t axis = spec.axis < 0 ? spec.axis + x.rank() : spec.axis;
  LossRows rows{1, 1, labels.type};
  for (std::int64_t i = 0; i < x.rank(); ++i)
    (i < axis ? rows.rows : rows.classes) *= x.dim(i);
  if (labels.elements() != rows.rows || rows.rows == 0)
    throw InvalidInput(
        fmt::format("{} labels for {} rows", labels.elements(), rows.rows));
  if (labels.type != ElementType::kInt64 && labels.type != ElementType::kInt32)
    throw InvalidInput("labels are not whole numbers");
  return rows;
}

std::int64_t label_of(const LossRows& shape, const std::byte* labels, std::int64_t row) {
  const std::int64_t label = shape.type == ElementType::kInt64
                                 ? reinterpret_cast<const std::int64_t*>(labels)[row]
                                 : reinterpret_cast<const std::int32_t*>(labels)[row];
  if (label >= shape.classes)
    throw InvalidInput(
        fmt::format("label {} of row {} is not below {}", label, row, shape.classes));
  return label;
}

// LossRows that have a label.
std::int64_t labelled(const LossRows& shape, const std::byte* labels) {
  std::int64_t count = 0;
  for (std::int64_t row = 0; row < shape.rows; ++row)
    count += label_of(shape, labels, row) >= 0 ? 1 : 0;
  return count;
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
std::unique_ptr<Kernel> cross_entropy(const OperatorSpec& spec,
                                      const KernelTensors& tensors) {
  const LossRows shape = rows_of(spec, tensors.input(0), tensors.input(1));
  return kernel_of(
      [shape](const KernelCall& call) {
        const T* const x = read<T>(call, 0);
        T* const probabilities = write<T>(call, 1);
        auto* const losses = reinterpret_cast<double*>(call.scratch);
        const std::int64_t rows = labelled(shape, call.inputs[1]);
#pragma omp parallel for if (shape.rows * shape.classes >= kWorthThreads)
        for (std::int64_t row = 0; row < shape.rows; ++row) {
          const std::int64_t first = row * shape.classes;
          const std::int64_t label = label_of(shape, call.inputs[1], row);
          const double score = label < 0 ? 0 : static_cast<double>(x[first + label]);
          const double log_sum =
              softmax_row(x + first, probabilities + first, shape.classes);
          losses[row] = label < 0 ? 0 : log_sum - score;
        }
        double sum = 0;
        for (std::int64_t row = 0; row < shape.rows; ++row) sum += losses[row];
        *write<T>(call, 0) = static_cast<T>(sum / static_cast<double>(rows));
      },
      checked_mul(shape.rows, 8));
}

template <class T>
std::unique_ptr<Kernel> cross_entropy_backward(const OperatorSpec& spec,
                                               const KernelTensors& tensors) {
  const LossRows shape = rows_of(spec, tensors.input(0), tensors.input(1));
  return kernel_of([shape](const KernelCall& call) {
    const T* const probabilities = read<T>(call, 0);
    T* const dx = write<T>(call, 0);
    const std::int64_t rows = labelled(shape, call.inputs[1]);
    const T part = static_cast<T>(1 / static_cast<double>(rows));
    for (std::int64_t row = 0; row < shape.rows; ++row) {
      const std::int64_t first = row * shape.classes;
      const std::int64_t label = label_of(shape, call.inputs[1], row);
      const T factor = label < 0 ? T(0) : part;
      for (std::int64_t j = 0; j < shape.classes; ++j)
        dx[first + j] = factor * (probabilities[first + j] - (j == label ? T(1) : T(0)));
    }
  });
}

template <class T>
std::unique_ptr<Kernel> mean_square(const KernelTensors& tensors) {
  return kernel_of([count = tensors.input(0).elements()](const KernelCall& call) {
    const T *const x = read<T>(call, 0), *const target = read<T>(call, 1);
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const double off = static_cast<double>(x[i]) - static_cast<double>(target[i]);
      sum += off * off;
    }
    *write<T>(call, 0) = static_cast<T>(sum / static_cast<double>(count));
  });
}

template <class T>
std::unique_ptr<Kernel> mean_square_backward(const KernelTensors& tensors) {
  return kernel_of([count = tensors.input(0).elements()](const KernelCall& call) {
    const T *const x = read<T>(call, 0), *const target = read<T>(call, 1);
    const T part = static_cast<T>(2 / static_cast<double>(count));
    for (std::int64_t i = 0; i < count; ++i)
      write<T>(call, 0)[i] = part * (x[i] - target[i]);
  });
}

}  // namespace

template <class T>
std::unique_ptr<Kernel> make_plain_loss(const OperatorSpec& spec,
                                        const KernelTensors& tensors) {
  switch (spec.kind) {
    case OperatorKind::kCrossEntropy:
      return cross_entropy<T>(spec, tensors);
    case OperatorKind::kCrossEntropyBackward:
      return cross_entropy_backward<T>(spec, tensors);
    case OperatorKind::kMeanSquare:
      return mean_square<T>(tensors);
    case OperatorKind::kMeanSquareBackward:
      return mean_square_backward<T>(tensors);
    default:
      return nullptr;
  }
}

ESPALIER_FOR_REAL_ELEMENTS(make_plain_loss)

}  // namespace espalier::training
