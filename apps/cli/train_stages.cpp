// What espalier train has measured of a pipeline, for espalier train-plan pipeline.

#include <algorithm>

#include "cli/train_parallel.h"

namespace espalier::cli {
namespace {

constexpr std::int64_t kReplays = 4000;  // a prediction is made some forty times

Nanoseconds predicted(const PipelineFile& file, const PipelineForm& form,
                      std::int32_t micro_batches) {
  return plan_pipeline(file.stages, form, micro_batches, file.transfer,
                       {.replays = kReplays})
             ->run.makespan +
         file.once;
}

// The longest transfer with which the prediction is no longer than the step; 0 where it
// is without any.
void fit_transfer(PipelineFile& file, const PipelineForm& form,
                  std::int32_t micro_batches, Nanoseconds step) {
  Nanoseconds low = 0, high = step;
  while (low < high) {
    file.transfer = low + (high - low + 1) / 2;
    if (predicted(file, form, micro_batches) <= step)
      low = file.transfer;
    else
      high = file.transfer - 1;
  }
  file.transfer = low;
}

}  // namespace

PipelineFile measured_stages(const SharedRun& run, const PipelineForm& form) {
  PipelineFile file;
  for (std::size_t p = 0; p < run.forward.size(); ++p) {
    file.stages.push_back(
        {.forward = run.forward[p],
         .backward = run.backward[p],
         .weight = run.weight[p] + run.beside[p],
         .persistent = run.parameters[p] + run.gradients[p] + run.states[p]});
    file.once = std::max(file.once, run.update[p] + run.other[p]);
  }
  const Seconds step = *std::ranges::min_element(run.result.step_seconds);
  if (file.stages.size() > 1)
    fit_transfer(file, form, run.shared.micro_batches,
                 static_cast<Nanoseconds>(step * 1e9));
  return file;
}

}  // namespace espalier::cli
