#pragma once

#include <vector>

#include "espalier/sharding/pairwise.h"

namespace espalier {

/// A problem with the marked states of another (`alive` by state): variables with one
/// state left are fixed, and sections stay that can be exceeded.
/// @par Cost  O(pair costs), and the sections that fixed variables hold
[[nodiscard]] Pairwise with_states(const Pairwise& problem,
                                   const std::vector<char>& alive);

}  // namespace espalier
