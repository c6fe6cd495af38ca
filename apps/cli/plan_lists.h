#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/cli_types.h"
#include "cli/options.h"

namespace espalier::cli {

/// A bound as it was asked for: "x1.25", "8GiB", "min", "none".
struct MemoryItem {
  std::string text;
  MemoryRequest request;
};

// Options of plan that take one value or, to compare, a list with commas. What cannot be
// read is refused as by add_workers() and add_memory(). `workers` holds the default;
// without --memory `memory` stays empty.
void add_worker_list(CLI::App& app, std::vector<std::int32_t>& workers);
void add_memory_list(CLI::App& app, std::vector<MemoryItem>& memory);

}  // namespace espalier::cli
