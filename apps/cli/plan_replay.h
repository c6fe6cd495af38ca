#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/plan_lists.h"

namespace espalier::cli {

/// What `espalier plan --replay` was asked for.
struct ReplayRequest {
  std::string file;
  std::vector<std::int32_t> workers;
  std::vector<MemoryItem> memory;  ///< on the fronts; empty: as the run had it
  bool processor_time = false;
  bool json = false;
};

/// Runs a record of `espalier solve --trace` again on other numbers of workers and prints
/// what came of it. The answer is no where a bound is below the least.
/// @throws FileError
[[nodiscard]] Ending replay_plan(const ReplayRequest& request);

}  // namespace espalier::cli
