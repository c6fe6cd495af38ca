#pragma once

#include <vector>

#include "espalier/layout/pieces.h"

namespace espalier {

/// A layout by one sweep over time: pieces that end give their bytes back, then those
/// that start get the smallest hole that holds them (of equal ones the lowest), longest
/// lifetime first, then largest; a piece that no hole holds goes on top. Exact for
/// lifetimes that are nested or disjoint; elsewhere a good start on real networks.
///
/// @return offsets by piece
/// @par Cost  O(n log n)
/// @par Test  SweepLayout.IsExactOnNestedLifetimes
[[nodiscard]] std::vector<Bytes> sweep_layout(const Pieces& pieces);

}  // namespace espalier
