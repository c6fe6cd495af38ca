#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "training/operators/element_runs.h"
#include "training/operators/tensor_shape.h"

namespace espalier::training {

/// What an operator of a training step computes, and which tensors it takes in which
/// order. g is the gradient of the forward operator's y; [a] may be left out; an operator
/// that has several gradients writes those that are asked for.
enum class OperatorKind : std::int8_t {
  // Linear
  kConvolution,                 ///< x, w, [b] -> y
  kConvolutionBackwardData,     ///< g, w -> dx
  kConvolutionBackwardWeights,  ///< x, g -> dw, [db]
  /// alpha op(a) op(b) [+ c] -> y, batched over leading dimensions, which broadcast; c is
  /// broadcast to y. y may have fewer batch dimensions than a and b: it is summed over
  /// those that it has as 1 or not at all.
  kMatMul,
  // One element at a time
  kUnary,            ///< x -> y
  kUnaryBackward,    ///< x or y (uses_result()), g -> dx
  kBinary,           ///< a, b -> y, both broadcast to y
  kSum,              ///< x ... -> y, all of one shape
  kReduce,           ///< x -> y: alpha times the sum over what y has as 1 or not at all
  kExpand,           ///< x -> y: alpha times x, broadcast to y
  kDropout,          ///< x -> y, mask
  kDropoutBackward,  ///< mask, g -> dx
  kWhere,            ///< mask, a, b -> y: a where the mask is not 0; all broadcast to y
  /// x ... -> y, [choice]: of kMaximum or kMinimum, and which x it is, the first of
  /// equals; all broadcast to y
  kExtreme,
  kChosen,  ///< choice, g -> dx: g where the choice, broadcast to g, is `axis`, else 0
  // Normalisation
  kBatchNorm,          ///< x, scale, bias, [running mean, running variance: updated]
                       ///< -> y, mean, variance
  kBatchNormBackward,  ///< x, scale, mean, variance, g -> dx, dscale, dbias
  kLayerNorm,  ///< x, scale, bias -> y, mean, variance; over the dims from axis on
  kLayerNormBackward,  ///< x, scale, mean, variance, g -> dx, dscale, dbias
  /// x, scale, bias -> y, mean, inverse deviation (of rows), over `size` groups of
  /// channels of each sample (0: every channel is one); scale and bias of groups or
  /// channels
  kGroupNorm,
  kGroupNormBackward,  ///< x, scale, mean, inverse deviation, g -> dx, dscale, dbias
  kLocalNorm,          ///< LRN: x -> y
  kLocalNormBackward,  ///< x, g -> dx
  kSoftmax,            ///< x -> y along axis; its logarithm where `logarithm`
  kSoftmaxBackward,    ///< y, g -> dx
  /// x -> y: of row i of the last two dimensions the softmax of alpha times the first
  /// i + 1 elements, and 0 behind
  kCausalSoftmax,
  kCausalSoftmaxBackward,  ///< y, g -> dx
  // Pooling
  kMaxPool,              ///< x -> y, indices (max_pool_index())
  kMaxPoolBackward,      ///< indices, g -> dx
  kAveragePool,          ///< x -> y
  kAveragePoolBackward,  ///< g -> dx
  kPeak,                 ///< x -> y: the largest of all positions
  kPeakBackward,         ///< x, y, g -> dx
  // Moving data
  kCopy,            ///< x -> y: as many elements, in the order of the plain format
  kTranspose,       ///< x -> y: dimension i of y is dimension axes[i] of x
  kConcat,          ///< x ... -> y along axis
  kSplit,           ///< x -> y ... along axis
  kSlice,           ///< x -> y: from starts on, by steps
  kSliceBackward,   ///< g -> dx: zero elsewhere
  kPad,             ///< x -> y: y[starts + i] = x[i], alpha elsewhere; crops where < 0
  kCast,            ///< x -> y: elements in y's type, towards zero; or truth values
  kGather,          ///< table, indices -> y along `axis`
  kGatherBackward,  ///< indices, g -> dtable
  kFill,            ///< -> y: alpha everywhere
  // Loss: a mean, over rows or elements
  /// x, labels -> loss, probabilities. The dims of x before axis are rows, the rest
  /// classes; rows with a negative label are left out.
  kCrossEntropy,
  kCrossEntropyBackward,  ///< probabilities, labels -> dx
  kMeanSquare,            ///< x, targets -> loss
  kMeanSquareBackward,    ///< x, targets -> dx
  // Updates, in place: the inputs before dw change
  kSgd,       ///< w, dw ->
  kMomentum,  ///< w, velocity, dw ->
  kAdam       ///< w, first moment, second moment, dw ->
};

enum class UnaryFunction : std::int8_t {
  kRelu,
  kLeakyRelu,  ///< alpha x below 0
  kElu,
  kSigmoid,
  kTanh,
  kGelu,      ///< by erf
  kGeluTanh,  ///< by tanh
  kSwish,
  kHardSwish,
  kExp,
  kLog,
  kSqrt,
  kAbs,
  kSquare,
  kClip,    ///< to [alpha, beta]
  kLinear,  ///< alpha x + beta
  kPower,   ///< x to the power of alpha
  kSelu,    ///< beta x above 0, beta alpha (e^x - 1) below
  kReciprocal,
  kHardSigmoid,  ///< alpha x + beta, cut to [0, 1]
  kSoftplus,     ///< log(1 + e^x)
  kErf
};

enum class BinaryFunction : std::int8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kMaximum,  ///< of kExtreme, as is the next
  kMinimum
};

/// The window of a convolution or a pooling, for each spatial dimension.
struct Window {
  std::vector<std::int64_t> kernel = {}, strides = {}, dilations = {};
  std::vector<std::int64_t> pads_begin = {}, pads_end = {};
  std::int64_t groups = 1;
  bool count_padding = false;  ///< average pooling divides by the whole window
};

/// Step sizes and decays. Of kAdam, bias corrected: alpha is the rate.
struct UpdateRule {
  double rate = 0.01, momentum = 0.9;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  double gradient_scale = 1;  ///< the gradient is so many times what is given
};

/// An operator without its tensors.
struct OperatorSpec {
  OperatorKind kind = OperatorKind::kCopy;
  UnaryFunction unary = UnaryFunction::kRelu;
  BinaryFunction binary = BinaryFunction::kAdd;
  Window window = {};
  bool transpose_a = false, transpose_b = false;
  bool logarithm = false;
  bool truth = false;  ///< of kCast: 0 stays 0, all else is 1
  std::int64_t axis = -1;
  std::vector<std::int64_t> axes = {}, starts = {}, steps = {};
  double alpha = 1, beta = 0;
  double epsilon = 1e-5, momentum = 0.9;  ///< of normalisations; running averages keep it
  std::int64_t size = 5;                  ///< of kLocalNorm; alpha, beta, bias with it
  double bias = 1;
  double probability = 0;    ///< of kDropout: that an element is dropped
  std::uint64_t stream = 0;  ///< of kDropout: random numbers of its own
  ElementRuns places = {};   ///< of kDropout: which of them
  UpdateRule update = {};
};

/// Whether the gradient of a unary function is made of y; else of x. Where a function has
/// another sign below 0 than x its y does not tell on which side x was.
[[nodiscard]] bool uses_result(const OperatorSpec& spec);

/// The elements of the indices that kMaxPool keeps.
[[nodiscard]] ElementType max_pool_index(const Window& window);

}  // namespace espalier::training
