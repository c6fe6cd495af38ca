#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/training/training_graph.h"
#include "solver/memory/process_account.h"
#include "solver/runtime/runtime.h"
#include "training/step/messages.h"
#include "training/step/step_run.h"

namespace espalier::training {

struct TrainOptions {
  solver::RuntimeOptions runtime = {};
  std::int32_t threads = 1;  ///< of each worker
  std::int64_t steps = 20;
  std::uint64_t seed = 1;
  UpdateRule update = {};
  bool planned = true;  ///< else each tensor lies by itself, and operators are in order
  Seconds plan_time = 10;  ///< for the order, and for the layout

  // Of a process of several (training/pipeline):
  bool keep_order = false;       ///< operators run as they stand in the graph
  Messages* messages = nullptr;  ///< of its Send and Receive
  Bytes reserve = 0;             ///< what messages take beside the arena
  double loss_scale = 1;         ///< what is reported is so many times the graph's loss
  /// Values for what is known from the start; no value: of the graph itself.
  std::function<void(TensorId, std::span<std::byte>)> known = {};
};

struct TrainResult {
  std::vector<float> losses;                    ///< by step
  std::vector<Seconds> step_seconds;            ///< by step
  std::vector<Seconds> step_processor_seconds;  ///< by step, of all threads
  Bytes arena_peak = 0;                         ///< StepRun::arena_peak()
  Bytes peak_resident = 0;                      ///< VmHWM of the process
  /// Of the fastest step: StepRun::operator_seconds(), and what is not of operators, as
  /// data and submission.
  std::vector<Seconds> operator_seconds;
  Seconds other_seconds = 0;
  bool stopped = false;
};

/// Values for the inputs of a step, labels among them.
using FillInputs = std::function<void(const TrainingGraph&, std::int64_t step, TensorId,
                                      std::span<std::byte>)>;

/// Training inside a bound on the resident set of the process. Phases in order:
/// construction makes the kernels and starts the runtime; plan() finds order and layout
/// and takes the account of the process; run().
class TrainJob {
 public:
  /// @throws InvalidInput naming operator and tensor for what there is no kernel for;
  ///         as solver::Runtime
  TrainJob(TrainingGraph training, const TrainOptions& options);

  [[nodiscard]] const TrainingGraph& training() const { return training_; }

  /// @param stop  asked now and then; true: the best so far will do
  void plan(const std::function<bool()>& stop = {});

  // After plan().
  [[nodiscard]] const Arrangement& arrangement() const { return arrangement_; }
  [[nodiscard]] const solver::ProcessAccount& account() const { return account_; }
  [[nodiscard]] Bytes arena_bytes() const { return plan_.bytes; }
  /// The least bound on the process that this plan suffices for, as users are told.
  [[nodiscard]] Bytes least() const;
  /// The answer whether the plan is inside a bound.
  [[nodiscard]] Expected<void> fits(Bytes bound) const;

  /// @param fill  no value: random data, the same in each step
  /// @param ended  told each step's loss; true gives up
  /// @param again  a loss is no number: all steps run again, from the start, to find the
  ///               first operator that wrote NaN; told before each, true gives up
  /// @throws InvalidInput naming operator and tensor for a loss that is no number; what
  ///         a kernel throws
  [[nodiscard]] TrainResult run(
      const FillInputs& fill = {},
      const std::function<bool(std::int64_t, float, Seconds)>& ended = {},
      const std::function<bool(std::int64_t)>& again = {});

 private:
  void fill_known(const Placement& placement) const;
  void fill_inputs(const FillInputs& fill, std::int64_t step, const Placement& placement,
                   ValueCheck* check) const;
  [[nodiscard]] std::vector<OperatorId> order_of_run() const;
  [[nodiscard]] float loss_in(const Placement& placement) const;
  [[nodiscard]] std::string where_it_began(
      std::int64_t last, StepRun& run, const Placement& placement, const FillInputs& fill,
      const std::function<bool(std::int64_t)>& again) const;

  TrainOptions options_;
  TrainingGraph training_;
  solver::Runtime runtime_;
  StepKernels kernels_;
  OperatorGraph graph_;  // with workspaces
  Arrangement arrangement_;
  StepPlan plan_;
  solver::ProcessAccount account_;
};

}  // namespace espalier::training
