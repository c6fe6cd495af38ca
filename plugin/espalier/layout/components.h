#pragma once

#include <cstdint>
#include <vector>

#include "espalier/layout/pieces.h"

namespace espalier {

/// Pieces that can be laid out by themselves, above `base`.
struct Component {
  Pieces pieces;
  std::vector<std::int32_t> numbers;  ///< of the pieces among all
  Bytes base = 0;
};

/// What is left when pieces alive throughout are put at the bottom, and time is cut where
/// nothing goes on from one section to the next, again and again: neither costs a byte.
struct Decomposition {
  std::vector<Component> components;  ///< none of them empty
  std::vector<Bytes> offsets;         ///< of those at the bottom; 0 for all others
};

/// @par Cost  O((n + sections) d), d: how often a component is cut again
[[nodiscard]] Decomposition decompose(const Pieces& pieces);

}  // namespace espalier
