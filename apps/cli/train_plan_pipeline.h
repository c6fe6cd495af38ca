#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli_types.h"
#include "cli/command.h"
#include "cli/options.h"
#include "espalier/io/pipeline_file.h"
#include "espalier/model/pipeline.h"
#include "espalier/sharding/plan_pipeline.h"

namespace espalier::cli {

/// Bytes that stand for a micro-batch where no size is given: chunks hold whole parts of
/// it, for up to 16 of a stage.
constexpr Bytes kMicroBatchUnit = 720'720;

/// What `espalier train-plan pipeline` is asked.
struct PipelineRequest {
  std::string file;            ///< of stages; empty: from options
  std::string chain;           ///< to be cut into stages; empty: none
  std::vector<Bytes> weights;  ///< of the chain: one for all its stages, or one each
  std::optional<std::int32_t> stages;
  std::int32_t micro_batches = 8;
  /// By column of a stage file: one for all stages, or one each; none: not given.
  std::vector<Nanoseconds> forward, backward, weight;
  std::vector<Bytes> until_backward, until_weight, persistent;
  std::optional<Nanoseconds> transfer;  ///< none: the file's, or 0
  std::optional<PipelineForm> form;     ///< none: all, and the shortest that fits
  PipelineSearchOptions search;
  Seconds timeout = 60;  ///< of the searches together
  MemoryRequest memory = {.kind = MemoryRequest::Kind::kUnbounded};
  std::string memory_text;  ///< which may count micro-batches, and parts of them
  std::string timeline, operations, page;
  bool json = false;
};

/// `pipeline` below `train_plan`.
[[nodiscard]] Command add_train_plan_pipeline(CLI::App& train_plan);
[[nodiscard]] CLI::App* add_pipeline_options(CLI::App& train_plan,
                                             PipelineRequest& request);

/// Without any size, micro-batches are counted.
[[nodiscard]] bool is_sized(const PipelineRequest& request);

/// The stages that the file or the options name, with --transfer; where sizes are not
/// given, each holds kMicroBatchUnit a micro-batch.
/// @throws InvalidInput, FileError
[[nodiscard]] PipelineFile stages_of(const PipelineRequest& request);

}  // namespace espalier::cli
