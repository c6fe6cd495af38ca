#pragma once

#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_input.h"

namespace espalier::cli {

struct OutOfCoreRequest {
  /// "min" is the largest task, "x0.5" half of what suffices without a disk
  MemoryRequest memory;
  std::string schedule;  ///< a file for the plan; empty: none
  bool json = false;
};

/// What has to go to disk when the tree runs on one worker inside the bound: what each
/// method needs, and the plan that moves the fewest bytes (ties: the first of them).
///
/// The plan is carried out before it is reported: what is printed is what
/// replay_out_of_core() has seen. In the file, one line an event, in order:
///
///   run ID
///   write ID BYTES output|retained
///   read ID BYTES
///
/// @param report    what is said of the input
/// @param progress  is reset before anything is printed
/// @return kNo when the bound is below the largest task
/// @throws FileError when the schedule cannot be written
[[nodiscard]] Ending plan_out_of_core(const PlanInput& input,
                                      const OutOfCoreRequest& request, Report report,
                                      std::optional<Progress>& progress);

}  // namespace espalier::cli
