#pragma once

#include <cstdint>
#include <span>

#include "solver/distributed/columns.h"
#include "solver/distributed/communicator.h"
#include "solver/matrix/coupling.h"
#include "solver/matrix/sparse_matrix.h"
#include "solver/scaling/prepare.h"

namespace espalier::solver {

/// Collective. refill() of a matrix that distribute_columns() spread over the processes.
///
/// @param ranges       as there
/// @param permutation  of the analysis
/// @param prepared     of the first matrix: its maps
/// @param matrix       at process 0; elsewhere it is not read and may be null
/// @param permuted     the columns that are here
/// @param coupling     all of it is at every process; of order 0: there is none
/// @throws InvalidInput as refill(), at every process with the same message
/// @par Cost    every entry of another process is sent once, in pieces
/// @par Memory  a piece of 64 KiB; at process 0 one for each process
void replace_columns(Communicator& communicator, std::span<const ColumnRange> ranges,
                     std::span<const std::int32_t> permutation,
                     const PreparedMatrix& prepared, const InputMatrix* matrix,
                     SquareMatrix& permuted, Coupling& coupling);
/// Of a complex matrix, as the one that was spread.
void replace_columns(Communicator& communicator, std::span<const ColumnRange> ranges,
                     std::span<const std::int32_t> permutation,
                     const PreparedMatrix& prepared, const ComplexMatrix* matrix,
                     SquareMatrix& permuted, Coupling& coupling);

}  // namespace espalier::solver
