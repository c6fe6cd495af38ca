#pragma once

#include "espalier/solver/results.h"
#include "solver/distributed/communicator.h"
#include "solver/distributed/front_distribution.h"
#include "solver/solve/triangular_solve.h"

namespace espalier::solver {

/// determinant() of a factor that processes have parts of: each multiplies the pivots of
/// its nodes and of its block columns of shared ones, and the products are multiplied in
/// the order of the processes. Collective; the same bits everywhere.
///
/// @par Cost  each process reads its own panels; L U: a sum of n numbers over processes
/// @par Test  determinant() of the whole factor, for random distributions
/// @throws InvalidInput everywhere when a process cannot read its file
template <class T>
[[nodiscard]] Determinant determinant(const FactorView<T>& view,
                                      const FrontDistribution& distribution,
                                      Communicator& communicator);

}  // namespace espalier::solver
