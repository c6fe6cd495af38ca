#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/order_input.h"
#include "cli/output.h"
#include "espalier/sharding/plan_pipeline.h"
#include "espalier/sharding/zero.h"
#include "training/step/train_job.h"

namespace espalier::cli {

/// What `espalier train` was asked for.
struct TrainCommand {
  GraphSource source;
  std::string mlp;  ///< widths, instead of a file or a transformer
  std::vector<std::string> trained, frozen;  ///< initializers of a file
  Optimiser optimiser = Optimiser::kSgd;
  MemoryRequest memory{.kind = MemoryRequest::Kind::kUnbounded};
  std::string data, loss_out, stages_out;
  bool json = false;
  training::TrainOptions job;
  bool threads_given = false;

  // How the processes of a job share a step.
  std::int32_t micro_batches = 1;
  std::optional<std::int32_t> stages;
  std::int32_t tensor = 1;
  PipelineForm form{.scheme = PipelineScheme::kOneForwardOneBackward};
  std::string stage_times;  ///< a file, for a schedule that is searched for
  ZeroStage zero = ZeroStage::kNone;
};

/// Threads of each worker, where none are given: what the cores of this process allow.
void choose_threads(TrainCommand& command);
/// What can be said before anything runs. @throws InvalidInput
void check(const TrainCommand& command);
[[nodiscard]] std::string_view name(Optimiser optimiser);

/// How far the steps are, for who ends them.
struct StepsReached {
  std::string model;
  std::int64_t steps = 0;
  std::atomic<std::int64_t> done = -1;  ///< below 0: not begun

  /// "train model.onnx: interrupted after 7 of 40 steps"
  [[nodiscard]] std::string text(std::string_view how) const;
};

/// Says how far an interrupt let them come, and ends the program by the signal.
[[nodiscard]] ExitStatus end_interrupted(const StepsReached& reached);

/// What is known of a run that has ended well.
struct TrainRun {
  std::optional<Bytes> bound;
  Seconds prepare_seconds = 0, plan_seconds = 0;
  std::size_t recomputed_operators = 0;  ///< that run again, so as to fit in the bound
  std::vector<std::string> not_trained;  ///< initializers, by name
  training::TrainResult result;
};

/// Everything; the exit status tells whether bound and plan were kept.
[[nodiscard]] ExitStatus report_run(const TrainCommand& command,
                                    const training::TrainJob& job, const TrainRun& run);

/// The answer "it does not fit", with the least bound that does.
[[nodiscard]] Ending report_infeasible(const TrainCommand& command,
                                       const training::TrainJob& job,
                                       const Infeasible& answer);

}  // namespace espalier::cli
