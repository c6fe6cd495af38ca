#pragma once

#include <cstdint>
#include <vector>

#include "espalier/layout/layout_budget.h"
#include "espalier/layout/pieces.h"

namespace espalier {

/// The sections whose load is a share of the largest or more, and the pieces alive in one
/// of them: what is hard in a large instance. In those sections alone many lifetimes are
/// equal, so that stacks of equal ones (join_pieces.h) leave an instance small enough for
/// ExactLayout.
struct Core {
  Pieces pieces;                      ///< sections that are left are numbered anew
  std::vector<std::int32_t> numbers;  ///< of these pieces among all
};
[[nodiscard]] Core core_of(const Pieces& pieces, double share);

/// Looks for offsets inside a capacity of the pieces of the core, in the core's sections.
/// @param pieces  whose core it is
/// @return empty when none were found with so many steps, or pieces share bytes that meet
///         in a section that is not the core's
[[nodiscard]] std::vector<Bytes> core_layout(const Pieces& pieces, const Core& core,
                                             Bytes capacity, std::int64_t steps,
                                             std::uint64_t seed, LayoutBudget& budget);

}  // namespace espalier
