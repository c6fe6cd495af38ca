#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli_types.h"
#include "cli/remedy.h"
#include "espalier/model/checkpoint_schedule.h"

namespace espalier::cli {

/// What `espalier checkpoint` is asked.
struct CheckpointRequest {
  std::string chain;   ///< file; empty: states that are all alike
  std::string memory;  ///< of a chain: SIZE, min or curve
  std::optional<std::int64_t> length, slots;
  std::vector<CheckpointLevel> levels;
  std::optional<Nanoseconds> step, backward;
  std::string step_times;  ///< file: what each step takes
  bool online = false, read_once = false, json = false;
  std::string schedule, page;
};

/// "ram:20,disk:200:w=5ms:r=4ms"
/// @throws InvalidInput that names the level and what is wrong with it
[[nodiscard]] std::vector<CheckpointLevel> parse_levels(std::string_view text);

void add_checkpoint_options(CLI::App& app, CheckpointRequest& request);

/// What is asked belongs together. @throws InvalidInput naming the option
void check(const CLI::App& app, const CheckpointRequest& request);

/// What makes so many slots more: on one of the levels, if there are levels.
[[nodiscard]] Remedy more_slots(const CheckpointRequest& request, std::int64_t count,
                                std::size_t more_of);

}  // namespace espalier::cli
