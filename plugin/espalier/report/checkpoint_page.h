#pragma once

#include <span>
#include <string>

#include "espalier/checkpoint/rotor.h"
#include "espalier/model/checkpoint_schedule.h"

namespace espalier::report {

/// A checkpointing schedule and what its page says about it.
struct CheckpointPage {
  const CheckpointSchedule* schedule = nullptr;
  std::string title;                   ///< need not be UTF-8
  Seconds unit = 1e-9;                 ///< of costs; 1: they count steps
  std::span<const BudgetPoint> curve;  ///< of a chain with sizes: cost over memory
};

/// What the page draws, as one JSON object: slots in use over time by level (of a chain
/// with sizes: bytes), where the working state is, and the curve.
/// @throws InvalidInput when the schedule cannot be replayed
/// @par Cost  two replays; 16 bytes an action while it is made
[[nodiscard]] std::string data_of(const CheckpointPage& page);

/// Writes the page. @throws FileError, and InvalidInput as data_of()
void write_page(const std::string& path, const CheckpointPage& page);

}  // namespace espalier::report
