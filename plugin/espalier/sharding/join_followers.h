#pragma once

#include <optional>

#include "espalier/sharding/pairwise.h"

namespace espalier {

/// Joins variables to those that they follow. A variable follows another one where each
/// state of that allows one of its own only, as resharding that is forbidden makes of
/// operators that have to lie as their input does. Both are one variable then: costs and
/// what is held are added up, and edges that went to both to the same third one become
/// one, so that a bound by messages is no lower and mostly higher, and a forest reaches
/// farther.
///
/// Pair costs do not grow: a variable with fewer states than the one that it follows
/// joins only where the edge that goes has as many entries as the others get.
///
/// @param problem  every state has a partner across each edge
/// @return nothing where there is none to join
/// @par Cost  O(pair costs)
/// @par Test  JoinFollowers.*
[[nodiscard]] std::optional<Pairwise> join_followers(const Pairwise& problem);

}  // namespace espalier
