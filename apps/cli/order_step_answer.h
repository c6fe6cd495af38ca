#pragma once

#include <optional>
#include <string>

#include "cli/output.h"
#include "espalier/model/task_graph.h"
#include "espalier/training/arrange.h"
#include "espalier/training/recompute.h"
#include "espalier/training/training_graph.h"

namespace espalier::cli {

/// What `espalier order --layout` and `--training` found.
struct StepAnswer {
  std::optional<OperatorGraph> model;  ///< of a training step
  std::optional<TrainingGraph> step;
  TaskGraph graph;  ///< of the step, or what was read
  Arrangement plan;
  /// Where operators run again to save memory: what that is, its graph and plan moved to
  /// those above, and what was needed without.
  std::optional<RecomputedStep> recomputed;
  Bytes capacity_without = 0;
  Seconds read_seconds = 0, seconds = 0;
  bool interrupted = false;

  /// No order and layout need less; where operators run again, no such schedule does.
  [[nodiscard]] Bytes lower_bound_bytes() const {
    return recomputed ? recomputed->lower_bound_bytes : plan.lower_bound_bytes();
  }
};

void report_step(Report& report, const StepAnswer& answer);

/// Buffers in the format of `espalier layout`, with their offsets. @throws FileError
void write_offsets(const std::string& path, const StepAnswer& answer);

/// The picture of the layout. @throws FileError
void write_page(const std::string& path, const std::string& title,
                const StepAnswer& answer);

}  // namespace espalier::cli
