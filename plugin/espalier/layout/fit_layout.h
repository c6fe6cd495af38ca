#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "espalier/layout/layout_budget.h"
#include "espalier/layout/pieces.h"

namespace espalier {

enum class Fit : std::uint8_t {
  kFirst,  ///< the lowest gap that holds the piece
  kBest,   ///< the smallest gap that holds it; of equal ones the lowest
};

/// Pieces put one by one, in the order given, into a gap between those that they meet, or
/// on top of them. `offsets` holds on entry where the pieces that are not in `order` lie,
/// and on return all of them.
///
/// @return the highest end; nothing when the budget was spent before the end
/// @par Cost  O(n) a piece, fast: gaps are looked for from below, over a list of all
/// placed
[[nodiscard]] std::optional<Bytes> fit_layout(const Pieces& pieces,
                                              std::span<const std::int32_t> order,
                                              Fit fit, std::vector<Bytes>& offsets,
                                              LayoutBudget& budget);

/// Numbers of the pieces by decreasing size · length^exponent; an infinite exponent means
/// by length, then size. Each key is shaken by up to e^±spread.
[[nodiscard]] std::vector<std::int32_t> order_by_extent(const Pieces& pieces,
                                                        double exponent, double spread,
                                                        std::uint64_t seed);

}  // namespace espalier
