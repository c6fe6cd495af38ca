#include "espalier/training/training_graph.h"

#include <utility>

#include "espalier/training/reuse_in_place.h"
#include "espalier/training/step_builder.h"

namespace espalier {

TrainingGraph training_graph(const OperatorGraph& model, const TrainingOptions& options) {
  TrainingGraph step = StepBuilder(model, options).build();
  if (options.in_place) step.graph = reuse_in_place(step.graph);
  return step;
}

}  // namespace espalier
