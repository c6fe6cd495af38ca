#pragma once

#include <cstdint>

#include "espalier/model/units.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/assembly_tree.h"

namespace espalier::solver {

/// Whether the planned panel of a front goes when columns are delayed to it, so that the
/// one with them has its memory: not what goes to the file as it was planned, and nothing
/// of the heap.
/// @param pooled  whether the pages of nodes are a pool's
[[nodiscard]] bool gives_way(const AssemblyTree& tree, std::int32_t front, bool pooled);

/// Bytes beside its plan that a front needs when its children delay so many columns to
/// it, at any time: what its panel grows by, or all of it, and its lists. Of a front that
/// is not shared.
/// @throws OverflowError when sizes leave the 64-bit range
/// @par Cost  O(1); of a front by blocks O(slices children)
/// @par Test  DelayedPanel.*
[[nodiscard]] Bytes delayed_panel_bytes(const Symbolic& symbolic,
                                        const AssemblyTree& tree, std::int32_t front,
                                        std::int32_t delayed, bool pooled);

}  // namespace espalier::solver
