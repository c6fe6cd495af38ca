#pragma once

#include <span>

#include "espalier/model/buffer_set.h"

namespace espalier {

/// What a layout takes and what it could not take less than.
struct LayoutFigures {
  Bytes capacity_bytes = 0;  ///< the highest end of a buffer
  Bytes load_bytes = 0;      ///< the largest sum of sizes alive at one time
};

/// Evaluates any offsets, one for each buffer; whether they are valid is the question of
/// validate_layout.h.
/// @throws InvalidInput for another number of offsets, OverflowError for an end beyond
///         2^63 - 1
/// @par Cost  O(n log n)
[[nodiscard]] LayoutFigures replay_layout(const BufferSet& buffers,
                                          std::span<const Bytes> offsets);

}  // namespace espalier
