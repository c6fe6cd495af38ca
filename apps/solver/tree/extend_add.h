#pragma once

#include <cstdint>
#include <span>

#include "solver/matrix/sparse_matrix.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/front_storage.h"

namespace espalier::solver {

/// Position in the parent front of each row of a child's contribution block, increasing.
///
///   child rows   7 9 12      parent pivots 7 8, rows 9 11 12     indices 0 2 4
///
/// @par Cost  O(c log(n/c)) for c rows in a parent of n
void relative_indices(const Symbolic& symbolic, std::int32_t child, std::int32_t parent,
                      std::span<std::int32_t> indices);

/// How many of the child's rows lie before a position of the parent.
/// @par Cost  O(log c)
[[nodiscard]] std::int32_t rows_before(std::span<const std::int32_t> indices,
                                       std::int32_t position);

/// Adds the columns [begin, end) of one side of a contribution block into that side of
/// its parent. `indices`: position in the parent of each row, increasing.
/// `contribution` points to entry `origin` of the block: a part of it that has the
/// columns will do.
template <class T>
void extend_add(const Trapezoid& layout, const T* contribution, std::int64_t origin,
                std::span<const std::int32_t> indices, std::int32_t begin,
                std::int32_t end, const FrontStorage<T>& parent, std::int32_t side);

/// Adds rows and columns of a tile of a contribution block, which is cut into strips or
/// not, into tiles of its parent: of the rows those at or under the diagonal. Nothing
/// else of either is read or written.
/// @param tile, source  its place in the block, and its first entry
/// @param tile_column   the first column of its block column
/// @param block         of the parent
/// @param rows     of the block, whose positions are in one strip of the parent
/// @param columns  likewise in its block column `block`
template <class T>
void extend_add_rows(const TilePlace& tile, const T* source, std::int32_t tile_column,
                     std::span<const std::int32_t> indices, IndexRange rows,
                     IndexRange columns, std::int32_t block,
                     const FrontStorage<T>& parent, std::int32_t side);

/// Adds a tile of a contribution block, at or under its diagonal, into side 0 of its
/// parent; what is above the diagonal is passed over.
/// @param rows, columns  position in the parent of each row and column, increasing
template <class T>
void extend_add_tile(const T* tile, std::int64_t leading,
                     std::span<const std::int32_t> rows,
                     std::span<const std::int32_t> columns,
                     const FrontStorage<T>& parent);

/// Adds the entries of A in the own pivot columns [begin, end) (counted within the
/// front). `delayed`: pivot columns of the front that come from its children, after its
/// own.
template <class T>
void add_original_entries(const Symbolic& symbolic, const SquareMatrix& permuted,
                          std::int32_t front, std::int32_t delayed, std::int32_t begin,
                          std::int32_t end, const FrontStorage<T>& storage);

}  // namespace espalier::solver
