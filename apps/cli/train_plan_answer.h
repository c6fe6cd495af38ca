#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "espalier/sharding/plan_training.h"

namespace espalier::cli {

/// What of a plan was replayed before it became the answer.
enum class PlanReplay : std::uint8_t { kNone, kMemory, kWhole };

/// What `espalier train-plan` answers.
struct TrainPlanReport {
  std::string model;
  std::int64_t parameters = 0;
  TrainingQuestion question;
  TrainingPlans answer;
  std::int64_t shown = 10;                 ///< of the plans, and of those that nearly fit
  std::vector<Bytes> layout_bytes;         ///< of the chosen plan's processes, by stage
  PlanReplay replay = PlanReplay::kWhole;  ///< of the chosen plan
};

/// Prints it, as tables or as one JSON object. @throws Error
void print_training(const TrainPlanReport& report, bool json);

/// How many were rejected for each reason, in words: "tensor 12, batch 3, memory 40".
[[nodiscard]] std::string rejected_text(const TrainingPlans& answer);

/// A row a plan, for tables: setting, step, of the lower bound, peak.
[[nodiscard]] std::vector<std::vector<std::string>> plan_rows(
    const TrainPlanReport& report);
/// A row a setting that does not fit: setting, why.
[[nodiscard]] std::vector<std::vector<std::string>> rejected_rows(
    const TrainPlanReport& report);

/// The least that a rejected setting needs; nothing where none fell out for memory.
[[nodiscard]] std::optional<Bytes> least_of(const TrainingPlans& answer);

}  // namespace espalier::cli
