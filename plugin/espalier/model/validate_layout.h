#pragma once

#include "espalier/model/buffer_set.h"
#include "espalier/model/layout.h"
#include "espalier/model/validate.h"

namespace espalier {

/// One offset a buffer, none negative or off the alignment, no byte of two buffers that
/// meet in time, the capacity exactly the highest end (rounded up to the alignment), the
/// load not above the lower bound, and the bound not above the capacity.
///
/// Shares no code with the planners: a sweep over time keeps the live buffers by offset,
/// and one that starts must fit between its neighbours. Buffers without bytes lie
/// anywhere.
/// @par Cost  O(n log n)
[[nodiscard]] Violations validate(const BufferSet& buffers, const Layout& layout,
                                  Bytes alignment = 1);

}  // namespace espalier
