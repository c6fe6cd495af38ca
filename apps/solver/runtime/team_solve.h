#pragma once

#include <functional>

#include "solver/solve/triangular_solve.h"
#include "solver/solve/vectors.h"
#include "solver/tree/node_pieces.h"

namespace espalier::solver {

/// Whether threads are worth their start for so many vectors at once.
[[nodiscard]] bool worth_a_team(const NodePieces& cut, std::int32_t count);

/// Forward elimination and backward substitution with the factor of a tree of one node,
/// by the threads that its pieces are for, without a runtime: the calling one and others,
/// which end with it. To the same bits as solve_sequentially().
///
/// @param b, x  as of solve_sequentially()
/// @param ask   called by the calling thread, between its pieces and fronts and while it
///              waits; what it throws is thrown when the others have ended; may be empty
/// @par Memory  the rows of the last fronts of all pieces, and of each thread what one
///              thread has alone, for each vector
template <class T>
void solve_in_threads(const FactorView<T>& view, const NodePieces& cut, bool transposed,
                      const Vectors<T>& b, const Vectors<T>& x,
                      const std::function<void()>& ask);

}  // namespace espalier::solver
