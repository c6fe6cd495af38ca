#pragma once

#include "espalier/model/checkpoint_action.h"
#include "espalier/training/backbone.h"
#include "espalier/training/training_graph.h"

namespace espalier {

/// A step as a schedule of its backbone runs it.
struct UnrolledStep {
  TrainingGraph step;  ///< its operators in the order of the schedule
  std::size_t again = 0;
  Flops again_work = 0;
};

/// Runs the schedule on names: a forward operator that runs again becomes another one,
/// "NAME/again" ("NAME/again/again" the next time), with tensors of its own, and who
/// reads takes the latest. Dropout keeps its seed; BatchNormalization updates its running
/// statistics the first time only.
/// @pre `actions` reverse the chain of `backbone(step)`
[[nodiscard]] UnrolledStep unroll_schedule(const TrainingGraph& step,
                                           const Backbone& backbone,
                                           ActionStream& actions);

}  // namespace espalier
