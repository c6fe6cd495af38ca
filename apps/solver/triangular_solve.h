#pragma once

#include <span>

#include "solver/assembly_tree.h"
#include "solver/factor.h"
#include "solver/symbolic.h"

namespace espalier::solver {

/// x := (L L^T)^-1 x, in elimination order.
///
/// @par Cost  4 flops for each entry of L; a work vector of the largest front's order
void solve_in_place(const Symbolic& symbolic, const AssemblyTree& tree,
                    const Factor& factor, std::span<double> x);

}  // namespace espalier::solver
