#pragma once

#include <optional>
#include <string>

#include "cli/cli_types.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/order_input.h"
#include "espalier/training/training_options.h"

namespace espalier::cli {

/// What `espalier order` is asked beside an order: a training step instead of the graph,
/// and a layout. `save_graph` goes without either, too.
struct StepRequest {
  bool trains = false;
  TrainingOptions training;
  bool layout = false;
  Bytes alignment = 1;
  std::string offsets, save_graph;
  std::optional<MemoryRequest> memory;  ///< of the arena; others recompute

  [[nodiscard]] bool asked() const {
    return trains || layout || alignment > 1 || !offsets.empty();
  }
};

/// --training and what it is made of, --layout, --alignment, --offsets, --save-graph.
void add_step(CLI::App& app, StepRequest& request);

/// The options of `espalier order` that both ways share.
struct OrderOutputs {
  std::string schedule, page;
  Seconds timeout = 0;
  bool json = false;
};

/// Reads, plans, checks, writes and prints.
[[nodiscard]] Ending run_step(const GraphSource& source, const StepRequest& request,
                              const OrderOutputs& outputs);

}  // namespace espalier::cli
