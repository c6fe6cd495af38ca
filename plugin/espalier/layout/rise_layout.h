#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "espalier/layout/layout_budget.h"
#include "espalier/layout/pieces.h"

namespace espalier {

/// A layout from the bottom up: again and again the piece that can lie lowest on what is
/// placed, of several the first one in `order`, is put there. The first branch of
/// ExactLayout, without its bounds, for any number of pieces.
///
/// @return offsets by piece; nothing when the budget was spent before the end
/// @par Cost  O(log n) for every time that a piece is found to lie higher than before
[[nodiscard]] std::optional<std::vector<Bytes>> rise_layout(
    const Pieces& pieces, std::span<const std::int32_t> order, LayoutBudget& budget);

/// Numbers of the pieces, those in the fullest sections first, then the longest.
[[nodiscard]] std::vector<std::int32_t> order_by_crowd(const Pieces& pieces);

}  // namespace espalier
