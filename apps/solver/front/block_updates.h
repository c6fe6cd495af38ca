#pragma once

// What factored columns of a front do to its later block columns, for all kinds.

#include <cstdint>

#include "solver/matrix/matrix_kind.h"
#include "solver/memory/worker_scratch.h"
#include "solver/tree/front_storage.h"

namespace espalier::solver {

/// Rows of factored columns: of L, and for LU of U transposed.
template <class T>
struct FactoredRows {
  const T *lower, *upper;
  std::int32_t leading;
};

/// Factored columns as they update a block column: the rows that are updated, and those
/// of its diagonal block.
template <class T>
struct FactoredColumns {
  FactoredRows<T> left, right;
  std::int32_t count;
  const T* d;  ///< LDL^T: D of the columns, as PivotBlock::d
};

/// LU: what stands opposite a diagonal block comes into its upper triangle.
template <class T>
void join_diagonal(const BlockColumn<T>& column);

/// Updates the diagonal block of a block column and what is under it: so many rows.
template <class T>
void update_diagonal(FactorKind kind, const BlockTile<T>& to,
                     const FactoredColumns<T>& by, std::int32_t rows,
                     const WorkerScratch& scratch);

/// Updates so many rows of a block column from row `begin` of the front on, under its
/// diagonal block.
template <class T>
void update_rows(FactorKind kind, const BlockTile<T>& to, std::int32_t begin,
                 std::int32_t rows, const FactoredColumns<T>& by,
                 const WorkerScratch& scratch);

}  // namespace espalier::solver
