#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/train_report.h"
#include "espalier/io/pipeline_file.h"
#include "training/pipeline/pipeline_job.h"

namespace espalier::cli {

/// The processes that share a training step, as one of them sees them.
struct TrainingPeers {
  std::int32_t rank = 0, size = 1;
  /// Of every process, by rank; everywhere.
  std::function<std::vector<std::int64_t>(std::int64_t)> gather_all =
      [](std::int64_t value) { return std::vector<std::int64_t>{value}; };
  training::Messages* messages = nullptr;
  Bytes reserve = 0;  ///< what messages take
};

/// Trains with micro-batches, alone or on several processes. The first one reports.
[[nodiscard]] Ending train_shared(TrainCommand& command, const TrainingPeers& peers);

/// The same on the processes of a job of MPI.
[[nodiscard]] Ending train_on_cluster(TrainCommand& command, const Suggest& suggest);

/// What is known of a run that has ended well, by process.
struct SharedRun {
  training::SharedStep shared;
  std::int64_t products = 0, divided_products = 0;  // linear layers
  std::vector<double> recomputed;                   // by chunk
  std::vector<std::string> not_trained;             // initializers, by name
  training::SharedSchedule schedule;
  bool bounded = false;
  std::vector<Bytes> bound, least, planned, arena_peak, peak, baseline;
  std::vector<Bytes> parameters, gradients, states;
  std::vector<std::int64_t> forward, backward, weight, beside, update, other;
  Seconds prepare_seconds = 0, plan_seconds = 0;
  training::TrainResult result;
};

/// What a stage took in the fastest step, to plan others with: operations with what a
/// micro-batch has beside, and the transfer with which the schedule that ran is predicted
/// to take what it took. So what the network, waiting, and processes that share cores do
/// counts as transfer. Of memory only what stays.
/// @pre each stage is one process
[[nodiscard]] PipelineFile measured_stages(const SharedRun& run,
                                           const PipelineForm& form);

/// Everything; the exit status tells whether bounds and plans were kept.
[[nodiscard]] ExitStatus report_shared(const TrainCommand& command, const SharedRun& run);

/// The answer "it does not fit" of one of the processes.
[[nodiscard]] Ending report_shared_infeasible(const TrainCommand& command,
                                              const training::SharedStep& shared,
                                              const Infeasible& answer,
                                              std::int32_t process);

}  // namespace espalier::cli
