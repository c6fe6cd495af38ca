#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "espalier/model/pipeline.h"

namespace espalier {

/// When a W begins that is longer than what a device would wait for its next operation.
enum class PartlyFilled : std::uint8_t {
  kNever,
  kAgainstTheMost,  ///< where without it the device would have waited longest of all
  kAlways
};

/// How many forwards a device begins before its first input gradient.
enum class WarmUp : std::uint8_t {
  kStaircase,     ///< as many as there are chunks from its own to the last one
  kWhileItLasts,  ///< as many as are done until that could begin
  kOneMore        ///< one more; with two chunks a device, no room kept for the way up
};

/// How a schedule of rounds chooses.
struct PipelineRoundRule {
  std::vector<Bytes> memory;    ///< by device, persistent bytes included
  bool backward_first = false;  ///< in a round; else the forward
  WarmUp warm_up = WarmUp::kWhileItLasts;
  /// With one chunk a device: no forward in a round where the next device has two to run
  /// and its gradient comes before the forward has ended.
  bool leave_forwards = false;
  PartlyFilled before_forward = PartlyFilled::kAlways;
  PartlyFilled before_backward = PartlyFilled::kAlways;
  /// What each device waits in the end, from a run before; empty: not known.
  std::vector<Nanoseconds> waits = {};
};

struct PipelineRounds {
  PipelineSchedule schedule;
  std::vector<Nanoseconds> waits;  ///< by device, after its first operation
};

/// Schedule of rounds, as zero-bubble planners make them [Qi24]: a warm-up in which
/// devices fill the way of the first micro-batch forth and back with further forwards,
/// then rounds in which each device runs one forward and one input gradient, of the chunk
/// farthest on the way whose input is made. Weight gradients fill what a device waits,
/// and are taken before where memory asks for it.
///
/// Beside list_pipeline(), which never waits for what is not there yet, these are the
/// regular schedules: a device waits for the operation whose turn it is.
///
/// @return nothing where a round has no operation left that memory admits
/// @par Cost  O(operations · chunks of a device)
/// @par Test  RoundPipeline.FindsSchedulesInsideTheBound
[[nodiscard]] std::optional<PipelineRounds> round_pipeline(const Pipeline& pipeline,
                                                           const PipelineRoundRule& rule);

}  // namespace espalier
