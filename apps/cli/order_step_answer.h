#pragma once

#include <optional>
#include <string>

#include "cli/output.h"
#include "espalier/model/task_graph.h"
#include "espalier/training/arrange.h"
#include "espalier/training/training_graph.h"

namespace espalier::cli {

/// What `espalier order --layout` and `--training` found.
struct StepAnswer {
  std::optional<TrainingGraph> step;
  TaskGraph graph;  ///< of the step, or what was read
  Arrangement plan;
  Seconds read_seconds = 0, seconds = 0;
  bool interrupted = false;
};

void report_step(Report& report, const StepAnswer& answer);

/// Buffers in the format of `espalier layout`, with their offsets. @throws FileError
void write_offsets(const std::string& path, const StepAnswer& answer);

/// The picture of the layout. @throws FileError
void write_page(const std::string& path, const std::string& title,
                const StepAnswer& answer);

}  // namespace espalier::cli
