#pragma once

#include <span>
#include <string>

#include "cli/output.h"
#include "espalier/checkpoint/rotor.h"
#include "espalier/model/checkpoint_schedule.h"

namespace espalier::cli {

/// How an answer is told.
struct CheckpointAnswer {
  std::string input;                   ///< what was planned
  Seconds unit = 1e-9;                 ///< of costs; 1: they count steps
  Bytes least_bytes = 0;               ///< of a chain with sizes
  std::span<const BudgetPoint> curve;  ///< of a chain with sizes

  [[nodiscard]] Seconds told(Nanoseconds cost) const {
    return unit == 1 ? static_cast<double>(cost) : to_seconds(cost);
  }
};

/// Prints it, as a table or as one JSON object. @throws Error
void print_schedule(const CheckpointSchedule& schedule, const CheckpointAnswer& answer,
                    bool json);

/// The least cost of every bound. @throws Error
void print_curve(const Chain& chain, const CheckpointAnswer& answer, bool json);

}  // namespace espalier::cli
