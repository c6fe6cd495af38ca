#pragma once

#include <cstdint>
#include <vector>

#include "solver/distributed/communicator.h"
#include "solver/distributed/front_distribution.h"
#include "solver/front/front.h"
#include "solver/matrix/sparse_matrix.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/assembly_tree.h"

namespace espalier::solver {

/// Collective. The matrix in the tiles that are here of shared fronts of several strips,
/// by columns, of each node; of other nodes nothing. A column of the matrix is at the
/// owner of its diagonal block: entries in rows of other strips go to their owners, for a
/// factorisation.
/// @param permuted  the columns here: distribute_columns()
/// @par Cost  two messages for each block column of these panels and process that has
///            tiles of it
template <class T>
[[nodiscard]] std::vector<std::vector<FrontEntry<T>>> original_tiles(
    Communicator& communicator, const Symbolic& symbolic, const AssemblyTree& tree,
    const FrontDistribution& distribution, const SquareMatrix& permuted);

/// Entries that it may give a process at most, and bytes that they take.
/// @param entries_before  each column of the matrix, and all at the end
[[nodiscard]] Bytes original_tile_bytes(const Symbolic& symbolic,
                                        const AssemblyTree& tree,
                                        const FrontDistribution& distribution,
                                        std::int32_t process, Bytes entry_bytes,
                                        const std::vector<std::int64_t>& entries_before);

}  // namespace espalier::solver
