#include <algorithm>
#include <cmath>

#include "training/operators/function_kernel.h"
#include "training/operators/reference_kernels.h"

namespace espalier::training {
namespace {

// A tensor as groups of elements that are normalised together: element i of group g is at
// group_place + member place; scale and bias have an entry for each `affine` index.
struct Groups {
  std::int64_t groups, outer, outer_stride, inner, group_stride;
  bool by_group;  // one scale for each group: else one for each member

  [[nodiscard]] std::int64_t members() const { return outer * inner; }
  [[nodiscard]] std::int64_t place(std::int64_t group, std::int64_t member) const {
    return group * group_stride + member / inner * outer_stride + member % inner;
  }
  [[nodiscard]] std::int64_t affine(std::int64_t group, std::int64_t member) const {
    return by_group ? group : member;
  }
};

Groups groups_of(const OperatorSpec& spec, const TensorShape& x) {
  if (spec.kind == OperatorKind::kBatchNorm ||
      spec.kind == OperatorKind::kBatchNormBackward) {
    const std::int64_t points = x.elements() / (x.dim(0) * x.dim(1));
    return {x.dim(1), x.dim(0), x.dim(1) * points, points, points, true};
  }
  const std::int64_t axis = spec.axis < 0 ? spec.axis + x.rank() : spec.axis;
  std::int64_t members = 1;
  for (std::int64_t i = axis; i < x.rank(); ++i) members *= x.dim(i);
  return {x.elements() / members, 1, 0, members, members, false};
}

std::unique_ptr<Kernel> normalise(const OperatorSpec& spec,
                                  const KernelTensors& tensors) {
  const Groups of = groups_of(spec, tensors.input(0));
  return kernel_of([of, spec, running = tensors.has_input(3)](const KernelCall& call) {
    const double* const x = read<double>(call, 0);
    const double *const scale = read<double>(call, 1), *const bias =
                                                           read<double>(call, 2);
    for (std::int64_t g = 0; g < of.groups; ++g) {
      double mean = 0, variance = 0;
      const auto count = static_cast<double>(of.members());
      for (std::int64_t i = 0; i < of.members(); ++i) mean += x[of.place(g, i)] / count;
      for (std::int64_t i = 0; i < of.members(); ++i)
        variance += std::pow(x[of.place(g, i)] - mean, 2) / count;
      const double inverse = 1 / std::sqrt(variance + spec.epsilon);
      for (std::int64_t i = 0; i < of.members(); ++i)
        write<double>(call, 0)[of.place(g, i)] =
            scale[of.affine(g, i)] * (x[of.place(g, i)] - mean) * inverse +
            bias[of.affine(g, i)];
      write<double>(call, 1)[g] = mean;
      write<double>(call, 2)[g] = variance;
      if (!running) continue;
      double &mean_kept = change<double>(call, 3)[g],
             &variance_kept = change<double>(call, 4)[g];
      mean_kept = spec.momentum * mean_kept + (1 - spec.momentum) * mean;
      variance_kept = spec.momentum * variance_kept + (1 - spec.momentum) * variance;
    }
  });
}

// With n = (x - mean) inverse and h = scale g: dx = inverse (h - <h> - n <h n>), the
// brackets being means over a group.
std::unique_ptr<Kernel> normalise_backward(const OperatorSpec& spec,
                                           const KernelTensors& tensors) {
  const Groups of = groups_of(spec, tensors.input(0));
  const std::int64_t affine = tensors.input(1).elements();
  return kernel_of([of, affine, spec](const KernelCall& call) {
    const double *const x = read<double>(call, 0), *const scale = read<double>(call, 1);
    const double *const mean = read<double>(call, 2), *const var = read<double>(call, 3);
    const double* const dy = read<double>(call, 4);
    double *const dscale = write<double>(call, 1), *const dbias = write<double>(call, 2);
    std::fill_n(dscale, affine, 0.0);
    std::fill_n(dbias, affine, 0.0);
    for (std::int64_t g = 0; g < of.groups; ++g) {
      const double inverse = 1 / std::sqrt(var[g] + spec.epsilon);
      const auto count = static_cast<double>(of.members());
      const auto normal = [&](std::int64_t i) {
        return (x[of.place(g, i)] - mean[g]) * inverse;
      };
      double h = 0, hn = 0;
      for (std::int64_t i = 0; i < of.members(); ++i) {
        const double value = dy[of.place(g, i)];
        dscale[of.affine(g, i)] += value * normal(i);
        dbias[of.affine(g, i)] += value;
        h += scale[of.affine(g, i)] * value / count;
        hn += scale[of.affine(g, i)] * value * normal(i) / count;
      }
      for (std::int64_t i = 0; i < of.members(); ++i)
        write<double>(call, 0)[of.place(g, i)] =
            inverse * (scale[of.affine(g, i)] * dy[of.place(g, i)] - h - normal(i) * hn);
    }
  });
}

// Local response over channels: y_c = x_c s_c^-beta, s_c = bias + alpha / size Σ x_j².
struct Channels {
  std::int64_t batches, channels, points, before, after;
};
Channels channels_of(const OperatorSpec& spec, const TensorShape& x) {
  return {x.dim(0), x.dim(1), x.elements() / (x.dim(0) * x.dim(1)), (spec.size - 1) / 2,
          spec.size / 2};
}
double local_sum(const OperatorSpec& spec, const Channels& of, const double* x,
                 std::int64_t channel) {
  double sum = 0;
  for (std::int64_t j = std::max<std::int64_t>(0, channel - of.before);
       j <= std::min(of.channels - 1, channel + of.after); ++j)
    sum += x[j * of.points] * x[j * of.points];
  return spec.bias + spec.alpha / static_cast<double>(spec.size) * sum;
}

std::unique_ptr<Kernel> local_norm(const OperatorSpec& spec,
                                   const KernelTensors& tensors) {
  const Channels of = channels_of(spec, tensors.input(0));
  return kernel_of([of, spec](const KernelCall& call) {
    for (std::int64_t line = 0; line < of.batches * of.points; ++line) {
      const std::int64_t at =
          line / of.points * of.channels * of.points + line % of.points;
      const double* const x = read<double>(call, 0) + at;
      for (std::int64_t c = 0; c < of.channels; ++c)
        write<double>(call, 0)[at + c * of.points] =
            x[c * of.points] * std::pow(local_sum(spec, of, x, c), -spec.beta);
    }
  });
}

std::unique_ptr<Kernel> local_norm_backward(const OperatorSpec& spec,
                                            const KernelTensors& tensors) {
  const Channels of = channels_of(spec, tensors.input(0));
  return kernel_of([of, spec](const KernelCall& call) {
    const double slope = 2 * spec.alpha * spec.beta / static_cast<double>(spec.size);
    for (std::int64_t line = 0; line < of.batches * of.points; ++line) {
      const std::int64_t at =
          line / of.points * of.channels * of.points + line % of.points;
      const double* const x = read<double>(call, 0) + at;
      const double* const g = read<double>(call, 1) + at;
      for (std::int64_t c = 0; c < of.channels; ++c) {
        const std::int64_t here = c * of.points;
        double dx = g[here] * std::pow(local_sum(spec, of, x, c), -spec.beta);
        for (std::int64_t j = std::max<std::int64_t>(0, c - of.after);
             j <= std::min(of.channels - 1, c + of.before); ++j)
          dx -= slope * x[here] * g[j * of.points] * x[j * of.points] *
                std::pow(local_sum(spec, of, x, j), -spec.beta - 1);
        write<double>(call, 0)[at + here] = dx;
      }
    }
  });
}

// Rows of a softmax: along an axis, with its stride.
struct Lines {
  std::int64_t count, length, stride;
  [[nodiscard]] std::int64_t first(std::int64_t line) const {
    return line / stride * length * stride + line % stride;
  }
};
Lines lines_of(const OperatorSpec& spec, const TensorShape& x) {
  const std::int64_t axis = spec.axis < 0 ? spec.axis + x.rank() : spec.axis;
  std::int64_t stride = 1;
  for (std::int64_t i = axis + 1; i < x.rank(); ++i) stride *= x.dim(i);
  return {x.elements() / x.dim(axis), x.dim(axis), stride};
}

std::unique_ptr<Kernel> softmax(const OperatorSpec& spec, const KernelTensors& tensors) {
  const Lines of = lines_of(spec, tensors.input(0));
  return kernel_of([of, logarithm = spec.logarithm](const KernelCall& call) {
    for (std::int64_t line = 0; line < of.count; ++line) {
      const double* const x = read<double>(call, 0) + of.first(line);
      double* const y = write<double>(call, 0) + of.first(line);
      double most = x[0], sum = 0;
      for (std::int64_t i = 0; i < of.length; ++i)
        most = std::max(most, x[i * of.stride]);
      for (std::int64_t i = 0; i < of.length; ++i)
        sum += std::exp(x[i * of.stride] - most);
      for (std::int64_t i = 0; i < of.length; ++i) {
        const double value = x[i * of.stride] - most - std::log(sum);
        y[i * of.stride] = logarithm ? value : std::exp(value);
      }
    }
  });
}

std::unique_ptr<Kernel> softmax_backward(const OperatorSpec& spec,
                                         const KernelTensors& tensors) {
  const Lines of = lines_of(spec, tensors.input(0));
  return kernel_of([of, logarithm = spec.logarithm](const KernelCall& call) {
    for (std::int64_t line = 0; line < of.count; ++line) {
      const double* const y = read<double>(call, 0) + of.first(line);
      const double* const g = read<double>(call, 1) + of.first(line);
      double sum = 0;
      for (std::int64_t i = 0; i < of.length; ++i)
        sum += g[i * of.stride] * (logarithm ? 1 : y[i * of.stride]);
      for (std::int64_t i = 0; i < of.length; ++i) {
        const double value = y[i * of.stride];
        write<double>(call, 0)[of.first(line) + i * of.stride] =
            logarithm ? g[i * of.stride] - std::exp(value) * sum
                      : value * (g[i * of.stride] - sum);
      }
    }
  });
}

}  // namespace

std::unique_ptr<Kernel> make_reference_normalization(const OperatorSpec& spec,
                                                     const KernelTensors& tensors) {
  switch (spec.kind) {
    case OperatorKind::kBatchNorm:
    case OperatorKind::kLayerNorm:
      return normalise(spec, tensors);
    case OperatorKind::kBatchNormBackward:
    case OperatorKind::kLayerNormBackward:
      return normalise_backward(spec, tensors);
    case OperatorKind::kLocalNorm:
      return local_norm(spec, tensors);
    case OperatorKind::kLocalNormBackward:
      return local_norm_backward(spec, tensors);
    case OperatorKind::kSoftmax:
      return softmax(spec, tensors);
    case OperatorKind::kSoftmaxBackward:
      return softmax_backward(spec, tensors);
    default:
      return nullptr;
  }
}

}  // namespace espalier::training
