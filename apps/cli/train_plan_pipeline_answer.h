#pragma once

#include <optional>
#include <string>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/sharding/cut_chain.h"
#include "espalier/sharding/plan_pipeline.h"

namespace espalier::cli {

/// What `espalier train-plan pipeline` answers: the schedules that were looked at, and
/// which of them is the answer.
struct PipelineReport {
  std::string input;
  std::int32_t micro_batches = 1;
  std::optional<Bytes> bound;  ///< of each device
  Bytes lower_bound = 0;       ///< no schedule needs less on the device that needs most
  Nanoseconds transfer = 0;    ///< from a stage to the next
  Nanoseconds once = 0;        ///< a step has this beside the schedule
  Bytes unit = 1;              ///< not 1: that many bytes stand for a micro-batch
  std::vector<PipelinePlan> plans;
  std::optional<std::size_t> chosen;   ///< none fits
  std::vector<PipelineForm> left_out;  ///< time was over before they were planned
  std::optional<ChainCut> cut;         ///< of a chain

  /// Whether no schedule at all is inside the bound.
  [[nodiscard]] bool is_hopeless() const { return bound && *bound < lower_bound; }
};

/// Prints it, as a table or as one JSON object. @throws Error
void print_pipelines(const PipelineReport& report, bool json);

/// The answer is no; sizes are told as they were given, in bytes or in micro-batches.
void print_refused(const PipelineReport& report, const Infeasible& no, bool json);

}  // namespace espalier::cli
