#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "espalier/model/checkpoint_schedule.h"
#include "espalier/model/error.h"
#include "solver/runtime/runtime.h"
#include "training/chain/chain_budget.h"
#include "training/chain/chain_schedule.h"
#include "training/chain/gradient_chain.h"

namespace espalier::training {

/// A model whose gradient is asked for.
struct AdjointModel {
  Chain chain;
  /// Forward costs of the steps, in any unit; empty: all the same.
  std::vector<Nanoseconds> step_costs;
  bool uses_blas = false;
  /// Bytes beside the states of the chain. While StarPU runs.
  std::function<Bytes()> workspace_bytes;
  std::function<std::unique_ptr<GradientChain>(FirstError&)> build;
};

struct AdjointOptions {
  solver::RuntimeOptions runtime;
  ChainWish wish;
  ScheduleCosts costs;  ///< those of the steps are the model's
};

struct AdjointResult {
  ChainReport run;
  double misfit = 0;
  double initial_norm = 0, parameter_norm = 0;  ///< Euclidean, of the gradients
  std::uint64_t checksum = 0;                   ///< gradient_checksum()
  Bytes peak_resident = 0;                      ///< VmHWM of the process
};

/// The gradient of a model inside a bound on the resident set of the process. Phases in
/// order: construction starts the runtime and measures what is resident; plan(); run().
class AdjointJob {
 public:
  /// @param model  what it refers to outlives this
  /// @throws InvalidInput, Error as solver::Runtime
  AdjointJob(AdjointModel model, const AdjointOptions& options);

  [[nodiscard]] const ChainBudget& budget() const { return budget_; }
  [[nodiscard]] bool unequal_steps() const { return !model_.step_costs.empty(); }
  /// The least bound for what is wanted: in memory, or with the directory that is given.
  [[nodiscard]] Bytes least() const;

  // For slots in another process's memory, before plan():
  /// What takes part in the run has been started beside the runtime.
  /// @param reserve  for what it takes later
  void measure_again(Bytes reserve);
  [[nodiscard]] const solver::Runtime& runtime() const { return runtime_; }
  /// @param store  outlives the run
  void borrow(SlotStore& store, std::int64_t slots);

  /// The slots that fit, and the best schedule for them. What planning takes is taken off
  /// the bound too.
  /// @param bound  no value: none
  [[nodiscard]] Expected<void> plan(std::optional<Bytes> bound);

  // After plan().
  [[nodiscard]] const ChainLimits& limits() const { return limits_; }
  [[nodiscard]] const CheckpointSchedule& schedule() const { return schedule_; }
  [[nodiscard]] Bytes disk_bytes() const;

  /// @param progress  told the part that is done, 0 … 1; true gives up
  /// @throws FileError, Error; InvalidInput when the model leaves the numbers
  [[nodiscard]] AdjointResult run(const std::function<bool(double)>& progress = {});

 private:
  [[nodiscard]] Bytes lower_bound() const;
  [[nodiscard]] Expected<ChainLimits> fit(const ChainBudget& now,
                                          std::optional<Bytes> bound,
                                          ScheduleCosts& costs) const;

  AdjointModel model_;
  AdjointOptions options_;
  solver::Runtime runtime_;
  ChainBudget budget_;
  ChainLimits limits_;
  CheckpointSchedule schedule_;
};

}  // namespace espalier::training
