#pragma once

#include <cstdint>
#include <vector>

#include "espalier/model/units.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/assembly_tree.h"

namespace espalier::solver {

/// The fronts of a node that has all fronts of a tree, in pieces that several threads may
/// run, each when the pieces are done whose last fronts are children of its own: subtrees
/// of grains, stretches of chains, and fronts in tiles by themselves. Who runs what
/// changes no bit of the factor: a piece has whole grains.
///
///   grains {0 1} {2} {3 4} {5} {6}, the subtrees of 2 and 5 small, 6 their parent:
///   pieces {0 1 2} {3 4 5} {6}, of which the first two may run at the same time
struct NodePieces {
  std::int32_t threads = 1;  ///< that it was cut for
  /// Children before parents. Of each: its fronts, stack_entries and index_entries, and
  /// whether it is `tiled`.
  std::vector<AssemblyTree::Node> pieces;
  std::vector<std::int32_t> parent;    ///< of each piece; -1: none
  std::vector<std::int32_t> children;  ///< of each piece: how many
  std::vector<std::int64_t> panels;    ///< entries of panels before each piece, and all
  std::vector<std::int32_t> of_front;  ///< which piece each front is in
  std::vector<Flops> work;             ///< of each piece
  std::int64_t stack_entries = 0, index_entries = 0;  ///< the most of all pieces

  /// Where each piece's contribution block stands among those of all, in entries, except
  /// for the last one's, which goes on: blocks that may be there at once, in whatever
  /// order pieces run, do not meet. Those an even way from the last piece come first.
  std::vector<std::int64_t> block_at;
  std::int64_t block_entries = 0;  ///< of all

  /// A thread's stack: whole pages.
  [[nodiscard]] Bytes stack_bytes(const AssemblyTree& tree) const;
  /// What the threads have beside the panels: the blocks, and a stack each.
  [[nodiscard]] Bytes bytes_beside(const AssemblyTree& tree) const;
  /// With the panels, and the last contribution block.
  [[nodiscard]] Bytes bytes(const AssemblyTree& tree) const;
};

/// Cuts the first node of a tree for so many threads. One piece: it has too little work
/// to be worth two threads.
/// @param tree  AssemblyOptions::whole, of at least one front
/// @par Cost  O(fronts)
[[nodiscard]] NodePieces cut_into_pieces(const Symbolic& symbolic,
                                         const AssemblyTree& tree, std::int32_t threads);

/// Whether threads would do most of the work one after the other, along a path of pieces;
/// of a piece in tiles each has its part.
[[nodiscard]] bool is_one_path(const NodePieces& cut);

/// Threads that are worth their start for the work of such a node: at most so many.
[[nodiscard]] std::int32_t useful_threads(const AssemblyTree& tree, std::int32_t most);

}  // namespace espalier::solver
