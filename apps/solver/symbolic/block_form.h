#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solver/matrix/coupling.h"
#include "solver/symbolic/symbolic.h"

namespace espalier::solver {

/// Where the entries of a coupling are, row by row, columns increasing: row i has
/// [start[i], start[i + 1]).
struct CouplingRows {
  std::vector<std::int64_t> start;
  std::vector<std::int32_t> column;
  std::vector<std::int64_t> entry;  ///< its number in the coupling
};

/// A block triangular matrix, but for unmatched variables, in the numbering of a Symbolic
/// that is of its diagonal blocks alone: each is one of the independent systems of the
/// Symbolic. Empty where the matrix is factored whole.
struct BlockForm {
  Coupling coupling;  ///< the entries outside the blocks; rows increasing
  CouplingRows rows;
  /// First front and root of each block, in the order of back substitution: for every
  /// entry (i, j) of the coupling the block of j stands before that of i. Those of
  /// unmatched variables are none: nothing is solved with them.
  struct Block {
    std::int32_t first_front, root;
    friend bool operator==(const Block&, const Block&) = default;
  };
  std::vector<Block> blocks;
  /// In the place of the process that has a block's root: several have it.
  static constexpr std::int32_t kShared = -1;

  [[nodiscard]] bool empty() const { return blocks.empty(); }
};

/// P C P^T, with increasing rows; permutation[new] = old.
/// @par Cost  O(n + nonzeros) and a sort of each column that is out of order
[[nodiscard]] GeneralMatrix permuted(GeneralMatrix&& matrix,
                                     std::span<const std::int32_t> permutation);
[[nodiscard]] Coupling permuted(Coupling&& coupling,
                                std::span<const std::int32_t> permutation);

/// Puts the independent systems in order. Takes the coupling over.
/// @param coupling  in the numbering of `symbolic`
/// @throws InvalidInput when entries couple a system with itself, or in a circle
/// @par Cost  O(n + nonzeros)
[[nodiscard]] BlockForm block_form(const Symbolic& symbolic, Coupling&& coupling);

/// The blocks of a form in an order of back substitution in which those of one owner
/// stand together as far as others do not have to come between them.
/// @param owner  of each front, which counts for blocks by their roots: from 0 on, or
///               BlockForm::kShared; empty: all have one
/// @par Cost  O(n + nonzeros)
[[nodiscard]] std::vector<BlockForm::Block> blocks_by_owner(
    const Symbolic& symbolic, const Coupling& coupling,
    std::span<const std::int32_t> owner);

/// Of each column the place of its system, a part of a block diagonal matrix, in an order
/// of back substitution.
/// @param coupling  in the numbering of `blocks`, without circles; of order 0: nothing is
///                  returned
/// @par Cost  O(n + nonzeros) nearly
[[nodiscard]] std::vector<std::int32_t> substitution_order(const SymmetricMatrix& blocks,
                                                           const Coupling& coupling);

/// Of each column, the root's place among the systems by fronts, from 0.
[[nodiscard]] std::vector<std::int32_t> systems_of_columns(const Symbolic& symbolic);

}  // namespace espalier::solver
