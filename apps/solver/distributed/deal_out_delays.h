#pragma once

#include "solver/distributed/front_distribution.h"
#include "solver/front/delay_reserve.h"
#include "solver/front/pivoting.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/assembly_tree.h"

namespace espalier::solver {

/// Half of a process's reserve for delays is dealt out to the shared fronts before the
/// factorisation, by the number of their rows, so that each of them can put off about as
/// many columns: the same at every process, who need not ask one another then. Half of
/// what a front has is for its own slots, half for columns that its children delay to it,
/// each of them equally many.
///
///   a column that a child delays costs every process of the parent, at most, what it
///   makes the panel's columns longer, itself in the panel, and a copy that comes first
///
/// Without a limit on the reserve there is none here; without shared fronts nothing is
/// dealt out.
///
/// @param tree     of any of the processes
/// @param spilled  panels of shared fronts go to the file of some process
/// @par Cost  O(nodes + processes of shared nodes)
void deal_out_delays(const Symbolic& symbolic, const AssemblyTree& tree,
                     const FrontDistribution& distribution, const PivotOptions& pivoting,
                     bool spilled, DelayReserve& reserve);

}  // namespace espalier::solver
