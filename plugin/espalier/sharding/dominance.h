#pragma once

#include <vector>

#include "espalier/sharding/pairwise.h"

namespace espalier {

/// Takes out of `alive` (by state) what is not allowed, and what has no allowed partner
/// across some edge, until nothing more goes (arc consistency).
/// @return whether anything went
/// @par Cost  O(pair costs) a round
bool drop_unsupported(const Pairwise& problem, std::vector<char>& alive);

/// Takes out a state a of variable v when another, b, is at least as good whatever the
/// rest is [Gol94]:
///   c(b) - c(a) + sum over edges to w of max_t ( c(b, t) - c(a, t) ) <= 0
/// and b uses no more memory, or v counts in no section. Equal ones: the first is kept.
/// @return whether anything went
bool drop_dominated(const Pairwise& problem, std::vector<char>& alive);

/// States that hold too much at some section even with the least of all others.
/// @return whether there are any
/// @par Cost  O(sections that variables hold)
bool drop_oversized(const Pairwise& problem, std::vector<char>& alive);

}  // namespace espalier
