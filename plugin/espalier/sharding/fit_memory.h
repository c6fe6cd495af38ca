#pragma once

#include <random>
#include <span>

#include "espalier/sharding/forest_search.h"
#include "espalier/sharding/pairwise.h"

namespace espalier {

/// Changes a choice until it is allowed and within the limit, at little cost: forests of
/// all variables are chosen anew for prices of memory, which rise wherever too much is
/// held.
/// @param multipliers  of the sections, to begin with
/// @return whether it is; else `search` holds the last choice
bool fit_memory(const Pairwise& problem, std::span<const double> multipliers, int passes,
                ForestSearch& search, std::mt19937_64& random);

}  // namespace espalier
