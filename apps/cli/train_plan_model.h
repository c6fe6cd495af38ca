#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/cli_types.h"
#include "cli/order_input.h"
#include "cli/remedy.h"
#include "espalier/sharding/plan_training.h"

namespace espalier::cli {

/// What is trained, how, and on what: options that forms of train-plan share.
struct ModelRequest {
  GraphSource source;  ///< an ONNX model or a transformer; its batch is the planner's
  bool fused_attention = false;
  std::string optimiser = "adam";
  bool mixed = true;
  Cluster cluster;
};

/// MODEL, --transformer and the rest.
void add_model_options(CLI::App& app, ModelRequest& request);

/// That what is trained is not one thing that is known.
struct SourceMistake {
  std::string message;
  Remedy remedy;
  GraphSource instead;  ///< what the remedy leads to
};
[[nodiscard]] std::optional<SourceMistake> mistake_of(const GraphSource& source);

[[nodiscard]] OptimiserBytes optimiser_of(const ModelRequest& request);

/// @throws Refused for a mistake of the source, FileError
[[nodiscard]] TrainingModel training_model(const ModelRequest& request);

}  // namespace espalier::cli
