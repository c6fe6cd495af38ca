#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/order_input.h"
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

[[nodiscard]] OptimiserBytes optimiser_of(const ModelRequest& request);

/// @throws InvalidInput naming the option, FileError
[[nodiscard]] TrainingModel training_model(const ModelRequest& request);

}  // namespace espalier::cli
