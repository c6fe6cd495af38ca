#pragma once

// The numerical work of fronts, without a runtime: what tasks call.

#include <atomic>
#include <cstdint>
#include <span>

#include "solver/assembly_tree.h"
#include "solver/extend_add.h"
#include "solver/factor.h"
#include "solver/sparse_matrix.h"
#include "solver/symbolic.h"

namespace espalier::solver {

/// All that the tasks of one factorisation read, and the factor that they fill.
struct FrontContext {
  const Symbolic& symbolic;
  const SymmetricMatrix& permuted;
  const AssemblyTree& tree;
  Factor& factor;
  std::span<PageBuffer> contributions;  ///< of each node: its last front's block
  PivotCheck& pivots;
  MemoryMeter* meter;                  ///< counts every buffer; may be null
  std::atomic<Flops>* done = nullptr;  ///< work of what has ended, for progress
};

/// One block column of a front, counted through panel and contribution blocks.
struct BlockColumn {
  double* data;                        ///< its entry (first, first)
  std::int32_t first, width, leading;  ///< first row and column, within the front
};
[[nodiscard]] BlockColumn block_column(const FrontStorage& front, std::int32_t block);

/// Factors block column `block` of a front's panel: its diagonal block, then the rows
/// below. @return 0 or the 1-based failing column within the front.
std::int32_t factor_block(const FrontStorage& front, std::int32_t block);

/// Updates block column `target` by the factored block column `source` < target.
void update_block(const FrontStorage& front, std::int32_t target, std::int32_t source);

/// Allocates a node's factor storage and contribution block, zeroed.
/// @throws Error when the system has no memory
void allocate_node(const FrontContext& context, std::int32_t node);

/// Assembles and factors the fronts of a node one after the other on a private stack:
/// allocates the node's factor storage and contribution block, frees the children's.
/// A bad pivot goes to context.pivots and ends the node at once.
///
/// @throws Error when the system has no memory
void run_sequential_node(const FrontContext& context, std::int32_t node);

}  // namespace espalier::solver
