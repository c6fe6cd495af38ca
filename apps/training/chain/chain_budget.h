#pragma once

#include <optional>

#include "espalier/model/error.h"
#include "solver/memory/process_account.h"
#include "training/chain/chain.h"

namespace espalier::training {

/// A run of a chain against a bound on the whole process.
struct ChainBudget {
  Chain chain;
  Bytes beside = 0;  ///< of the run, but not of its states
  solver::ProcessAccount account;

  /// The least bound that suffices for these slots. While StarPU runs.
  [[nodiscard]] Bytes least(const ChainLimits& limits) const;
  /// The least of all: one slot in memory; with a disk none, if it holds a state.
  [[nodiscard]] Bytes least(bool disk) const;
};

/// What is wanted of the slots; no value: as many as the bound allows, on disk one for
/// every state.
struct ChainWish {
  std::optional<std::int64_t> memory_slots, disk_slots;
  std::string directory = {};     ///< empty: no disk
  std::int64_t remote_slots = 0;  ///< that another process lends
  SlotStore* remote = nullptr;
};

/// More slots than that are of no use: x_0 … x_{N-2}, as the last state that is reached
/// is the working state.
[[nodiscard]] std::int64_t useful_slots(const Chain& chain);

/// The slots for a bound on the process; no bound: all that are of use in memory.
/// @return Infeasible with the least bound for what is wanted
/// @throws InvalidInput for slots that are not wanted as they can be
[[nodiscard]] Expected<ChainLimits> fit_slots(const ChainBudget& budget,
                                              const ChainWish& wish,
                                              std::optional<Bytes> bound);

}  // namespace espalier::training
