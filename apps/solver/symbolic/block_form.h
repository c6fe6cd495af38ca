#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solver/matrix/coupling.h"
#include "solver/symbolic/symbolic.h"

namespace espalier::solver {

/// A block triangular matrix in the numbering of a Symbolic that is of its diagonal
/// blocks alone: each is one of the independent systems of the Symbolic. Empty where the
/// matrix is factored whole.
struct BlockForm {
  Coupling coupling;  ///< the entries outside the blocks; rows increasing
  /// First front and root of each block, in the order of back substitution: for every
  /// entry (i, j) of the coupling the block of j stands before that of i.
  struct Block {
    std::int32_t first_front, root;
  };
  std::vector<Block> blocks;

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

/// Of each column, the root's place among the systems by fronts, from 0.
[[nodiscard]] std::vector<std::int32_t> systems_of_columns(const Symbolic& symbolic);

}  // namespace espalier::solver
