#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "espalier/model/pipeline.h"

namespace espalier {

/// How a list schedule chooses.
struct PipelineListRule {
  std::vector<Bytes> memory;   ///< by device, persistent bytes included
  std::int32_t window = 1;     ///< micro-batches under way at chunk 0, at most
  bool forward_first = false;  ///< a forward before an input gradient, inside the window
  bool weights_at_once = false;  ///< W right after B; else where there is nothing better
  /// W does not begin where that would delay what is on its way to the device, and could
  /// begin when it comes, by more than this part of W.
  double patience = 1;
};

/// List schedule: whenever a device is free it takes, of what is there by then, an input
/// gradient (of the last chunk first), else a forward (of the last chunk first) that its
/// memory and the window admit, else a weight gradient, where it delays nothing too much.
/// A forward of chunk c is admitted when room for the device's chunks after c remains, so
/// that what is under way always comes to its end.
///
/// @param rule  its memory holds one micro-batch on each device
/// @param stop  asked now and then; true: there is no schedule
/// @par Cost  O(operations log operations)
[[nodiscard]] std::optional<PipelineSchedule> list_pipeline(
    const Pipeline& pipeline, const PipelineListRule& rule,
    const std::function<bool()>& stop = {});

}  // namespace espalier
