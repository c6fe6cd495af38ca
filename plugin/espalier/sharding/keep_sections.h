#pragma once

#include "espalier/sharding/pairwise.h"

namespace espalier {

/// Leaves out sections that no choice can exceed, and those that no choice can exceed
/// without exceeding the one before or behind: where the most that may be held more than
/// there, variable by variable, is no more than there is more room. What a variable holds
/// in the same sections is added up. `impossible` where there is less than no room.
/// @par Cost  O(states of all holds)
/// @par Test  KeepSections.*
void keep_sections(Pairwise& problem);

}  // namespace espalier
