#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "espalier/model/operator_graph.h"
#include "espalier/training/training_options.h"

namespace espalier {

// The operators of a training step
// ================================
//
// Types without a domain: ONNX's own, and these. Element types and shapes are those of
// the tensors; no operator needs another word about them. "-" is a position left out.
//
// Forward. Operators of the model with their attributes and inputs; those below give out
// more than ONNX lets them, and what is kept for the way back is marked *.
//
//   BatchNormalization (x, scale, bias, mean, var) -> y, *mean, *inverse deviation
//       The statistics are those of the batch, by channel. The running mean and variance,
//       inputs 3 and 4, are updated in place (attribute `momentum`, 0.9: new = momentum *
//       old + (1 - momentum) * batch's), unless `updates_statistics` = 0: it is run
//       again, or they are computed or have other readers.
//   LayerNormalization (x, scale[, bias]) -> y, *mean, *inverse deviation
//   InstanceNormalization, GroupNormalization likewise, by row of what is normalised
//   MaxPool (x) -> y, *indices: positions in the flattened x, of TrainingOptions::
//       pool_index; without them the way back reads x and y
//   Dropout (x[, ratio]) -> y, *mask: bool, which were kept. y = x mask / (1 - ratio).
//       `seed` (integer) is the same where the operator is run again.
//   LRN (x) -> y, *scale: bias + alpha / size * the sums of squares (not with
//       lrn_keeps_scale = false)
//   Max, Min (x_0, x_1, …) -> y, *choice: uint8, which of the inputs it is
//   Attention (q, k, v) -> y, *logsumexp: of shape (b, h, s, d); y = softmax(q kᵀ scale)
//   v
//       with `scale` (real) and `causal` (integer, 1: only what is not later)
//   CausalSoftmax (x) -> y: Softmax of `scale` (real) times x along the last axis, of row
//       i only the first i + 1, the others 0
//
// Loss. `axis` splits the scores' shape: rows before it, classes from there on.
//
//   SoftmaxCrossEntropyLoss (scores, labels) -> loss, *probabilities
//       loss = -mean over rows of log softmax(row)[label]; labels are int64, one a row,
//       negative ones are left out of the mean; loss is a scalar. In place of a Softmax
//       that ends the model, if there is one.
//   MeanSquareLoss (values, targets) -> loss: mean of (values - targets)²
//
// Backward. For a forward operator T with n inputs and m outputs, k of which carry a
// gradient (all of Split's, else the first):
//
//   TGrad (g_0 … g_{k-1}, x_0 … x_{n-1}, y_0 … y_{m-1}) -> dx_0 … dx_{n-1}
//
// g_j is the gradient of the loss with respect to output j, x_i the forward inputs, y_j
// the outputs with what was kept. What is not needed is left out: an x or y that the
// gradient does not depend on ("reads" below), a dx that nobody wants; trailing ones are
// not listed. Attributes are those of T, and three integers: `gradients` = k, `inputs` =
// n, `outputs` = m. The step's first gradient, of the loss itself, is 1 and is no tensor:
// SoftmaxCrossEntropyLossGrad (-, -, labels, -, probabilities) -> dscores.
//
//   T                                                         reads
//   Conv, ConvTranspose, Gemm, MatMul: dx of the first input  w
//                                      dw of the second       x
//     (db of the third nothing; one operator gives all, or with split_weight_gradients
//     one dx and another dw and db, both of type TGrad, some dx_i left out)
//   Relu, LeakyRelu, Elu, Selu, Sigmoid, Tanh, Exp, Sqrt,
//     Reciprocal, Softmax, LogSoftmax, CausalSoftmax          y
//     (x with a factor, `alpha` or `gamma`, below 0)
//   Gelu, Silu, HardSwish, HardSigmoid, Softplus, Erf, Log,
//     Pow, Abs, Clip                                          all x
//   Add, Sum, Sub, Neg, Identity, Cast                        nothing; a dx of another
//     shape than g is summed over the axes that were broadcast. With alias_views a dx of
//     g's shape (but not Sub's second, Neg's, Cast's) is g itself: no operator gives it
//   Mul, Div                                                  both x, but of a product's
//                                                             dx_i only the other
//   Max, Min: choice; Where: the condition; Dropout: mask; MaxPool: indices, or x and y
//   BatchNormalization                                x, scale, mean, inverse deviation
//   LayerNormalization and the like                   x, scale, mean, inverse deviation
//   LRN                                               x, y, scale
//   GlobalMaxPool                                     x, y
//   AveragePool, GlobalAveragePool, ReduceMean, ReduceSum     nothing
//   Reshape, Flatten, Squeeze, Unsqueeze: nothing; dx is g read in another shape, with
//     alias_views a view
//   Transpose, Slice, Concat, Split, Pad, Expand, Dropout: inputs from the second on,
//     where they are shapes, axes and the like, as the forward operator has them.
//     `pieces` (integers) of ConcatGrad and SplitGrad: the extents of all inputs, or all
//     outputs, along the axis; 0 of one that is left out
//   Gather                                            indices; dx_0 is dense
//   Attention                                         q, k, v, y, logsumexp
//   SoftmaxCrossEntropyLoss                           labels, probabilities
//   MeanSquareLoss                                    values, targets
//
// Sums. Accumulate (p_0, p_1, …) -> their sum, of one shape.
//
// Updates. Outputs overwrite: the i-th lies in the bytes of input i + 1.
//
//   SgdUpdate (dw, w) -> w'                     MomentumUpdate (dw, w, v) -> w', v'
//   AdamUpdate (dw, w, m, v) -> w', m', v'      the learning rate is the runtime's
//   with clip_gradients a last input: norm, from
//   GlobalNorm (dw_0, dw_1, …) -> norm          a scalar, sqrt of the sum of squares
//   with keep_gradients before it: Accumulate (kept, dw) -> sum, over `kept`
//   Barrier: nothing; it waits (Operator::after), with UpdateTime::kLast
//
// In memory. An output with Sharing::kOverwrite lies in the bytes of one of the inputs, a
// kView does and nothing is to be moved. Operator::workspace is for the kernel.

/// What an operator of a training step belongs to.
enum class StepPhase : std::uint8_t { kForward, kLoss, kBackward, kUpdate };

/// A training step.
struct TrainingGraph {
  OperatorGraph graph;
  TensorId loss{};
  std::vector<TensorId> labels;  ///< what is compared with; inputs of the graph
  std::vector<StepPhase> phase;  ///< by operator
  /// By operator: of a backward one the forward one that it undoes.
  std::vector<std::optional<OperatorId>> undoes;
  std::int64_t parameters = 0;  ///< elements
  Bytes parameter_bytes = 0, state_bytes = 0;
};

/// The graph of one training step of a model: forward, loss, backward, update, in the
/// order in which a framework runs them: forward in the order of the model, backward in
/// reverse, updates as the options say.
///
/// Trained are tensors of role kParameter; if there is none, all constants of floating
/// point with at least one axis, where an operator has a gradient for them (not the
/// running statistics of BatchNormalization), and as Tensor::trained says. The loss is
/// that of the model's first output of floating point: SoftmaxCrossEntropyLoss where that
/// has two axes or more, and more than one class.
/// Operators that do not lead to the loss are left out.
///
/// @param model  folded (fold_constants.h), operators after those they read from
/// @throws InvalidInput naming operator and tensor for an operator whose gradient is not
///         known, and when nothing can be trained
/// @par Test  TrainingGraph.*
[[nodiscard]] TrainingGraph training_graph(const OperatorGraph& model,
                                           const TrainingOptions& options = {});

}  // namespace espalier
