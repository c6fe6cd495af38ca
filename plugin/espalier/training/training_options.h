#pragma once

#include <cstdint>

#include "espalier/model/element_type.h"
#include "espalier/model/units.h"

namespace espalier {

enum class Optimiser : std::uint8_t {
  kSgd,       ///< no state
  kMomentum,  ///< one state as large as the parameters
  kAdam,      ///< two
};

/// When a parameter is updated.
enum class UpdateTime : std::uint8_t {
  kFree,       ///< anywhere after its gradient and all that read the parameter
  kImmediate,  ///< before the next operator that stands behind its gradient
  kLast,       ///< after all gradients: what frameworks do
};

/// What a training step is made of beside the forward graph. The defaults take the least
/// memory that needs no other kernels than a framework's.
struct TrainingOptions {
  Optimiser optimiser = Optimiser::kSgd;
  UpdateTime updates = UpdateTime::kFree;
  /// Updates that need temporaries (Adam 2, momentum 1 times the parameter) otherwise.
  bool fused_updates = true;
  /// The gradient of an Add is the one it gets, that of a Reshape a view; else copies.
  bool alias_views = true;
  /// Operators element by element write over an input that nobody reads after them.
  bool in_place = true;
  /// The gradients of input and weights by two operators instead of one.
  bool split_weight_gradients = false;
  /// Gradients of a tensor with several readers are added up by one operator that reads
  /// them all, instead of one by one as they come.
  bool accumulate_at_once = false;
  /// MaxPool keeps its input and output for the way back, instead of indices.
  bool pool_keeps_inputs = false;
  ElementType pool_index = ElementType::kInt64;  ///< of the indices
  /// What an operator keeps for the way back it writes even where nobody reads it,
  /// because its gradient is not wanted: kernels cannot leave it out.
  bool always_keeps = false;
  bool lrn_keeps_scale = true;  ///< LRN keeps its denominators, as large as its input
  /// An operator that reads all gradients stands before all updates.
  bool clip_gradients = false;
  /// Gradients are added to such as stay from step to step.
  bool keep_gradients = false;
  Bytes conv_workspace = 0;  ///< of each convolution, forward and backward
};

}  // namespace espalier
