#pragma once

#include <optional>

#include "cli/train_plan_answer.h"

namespace espalier::cli {

/// What a model costs in a plan's setting.
struct PlannedCosts {
  LayeredModel layers;
  StageCosts costs;
  PlannedCosts(const TrainingModel& model, const TrainingQuestion& question,
               const TrainingSetting& setting);
};

/// Makes the fastest plan whose processes can be laid out inside the bound the first of
/// the answer. A setting whose plan cannot is planned again in less memory than that plan
/// needs, and is rejected where no plan of it can: so more memory is never slower.
/// @throws std::logic_error for a plan that does not need what it says
void choose_what_can_be_laid_out(const TrainingModel& model, TrainPlanReport& report);

/// Lays out the settings that fell out for memory, those that need least first, until
/// what least_of() says holds the layouts too: a plan fits in that.
void lay_out_what_fell_out(const TrainingModel& model, TrainPlanReport& report);

/// Plans the report's question. @return a bound within which there is a plan: that of the
/// question, or least_of() its answer; nothing where it is not memory that is missing
[[nodiscard]] std::optional<Bytes> sufficient_bound(const TrainingModel& model,
                                                    TrainPlanReport& report);

}  // namespace espalier::cli
