#pragma once

#include <cstdint>

#include "solver/front/front.h"
#include "solver/front/pivoting.h"
#include "solver/memory/page_buffer.h"

namespace espalier::solver {

/// Whether a front is one of few rows that is not cut into tiles, whose panel and
/// contribution block are one block each.
[[nodiscard]] bool is_small_front(const Symbolic& symbolic, const AssemblyTree& tree,
                                  std::int32_t front);

/// Where a thread has what it needs for the fronts of a node: their contribution blocks,
/// one on top of the other, and positions of rows.
template <class T>
struct FrontStack {
  /// Memory of its own, for one node.
  FrontStack(const AssemblyTree::Node& node, MemoryMeter* meter, PagePool* pool)
      : memory(bytes(node.stack_entries, node.index_entries), meter, pool),
        entries(memory.template as<T>()),
        positions(reinterpret_cast<std::int32_t*>(entries + node.stack_entries)),
        written(pool != nullptr ? node.stack_entries : 0) {}
  /// bytes(stack_entries, …) of any content, for all nodes that need no more.
  FrontStack(std::byte* place, std::int64_t stack_entries)
      : entries(reinterpret_cast<T*>(place)),
        positions(reinterpret_cast<std::int32_t*>(entries + stack_entries)),
        written(stack_entries) {}
  [[nodiscard]] static Bytes bytes(std::int64_t stack_entries,
                                   std::int64_t index_entries) {
    return stack_entries * static_cast<Bytes>(sizeof(T)) +
           index_entries * static_cast<Bytes>(sizeof(std::int32_t));
  }

  PageBuffer memory;
  T* entries;
  std::int32_t* positions;
  std::int64_t written;  ///< entries so far: fresh pages are zero beyond
};

/// The fronts of a node, or of a piece of one (NodePieces), one after the other in the
/// calling thread. Of a piece the rest of the node may run at the same time.
template <class T>
class NodeRun {
 public:
  /// @param node    which fronts, and what they need; its own numbers are not looked at
  /// @param panels  entries of the storage of the tree's node before the first panel
  /// @param output  the last front's contribution block, zeroed
  NodeRun(const FrontContext<T>& context, const AssemblyTree::Node& node,
          std::int64_t panels, T* output, FrontStack<T>& stack);

  /// Frees the contribution blocks of children that are not among the fronts. A bad pivot
  /// goes to the log and ends it, as one of an earlier column does that is there.
  void run();

 private:
  bool take_alone(std::int32_t s);
  bool take_zero(std::int32_t s);
  [[nodiscard]] std::int64_t contribution_entries(std::int32_t front) const {
    return tree_.contribution_entries(symbolic_, front);
  }
  bool take_leaf(std::int32_t s);
  bool take_small(std::int32_t s);
  [[nodiscard]] bool takes_blocks_alone(std::int32_t s) const;
  std::int64_t add_children(std::int32_t s, const FrontStorage<T>& storage);
  bool eliminate_small(std::int32_t s, const FrontStorage<T>& storage);
  bool pivot_small(std::int32_t s, const FrontStorage<T>& storage);
  void clear_small(std::int32_t s, const FrontStorage<T>& storage);
  void turn();
  [[nodiscard]] std::int64_t entries_of_children(std::int32_t s) const;
  void note_panel(std::int32_t s, std::int64_t entries);
  T* top_block(std::int32_t s);
  T* push(std::int32_t s);
  std::int64_t assemble(Front<T>& front);
  bool eliminate_tiles(Front<T>& front);
  void close(std::int32_t s, T* contribution, std::int64_t children);

  const FrontContext<T>& context_;
  const Symbolic& symbolic_;
  const AssemblyTree& tree_;
  const AssemblyTree::Node& node_;
  FrontStack<T>& stack_;
  PageBuffer& storage_;  // of the tree's node
  T* panel_;
  T* output_;
  std::int64_t top_ = 0;   // entries on the stack
  PivotStatistics alone_;  // of take_alone(), take_leaf() and take_small()
};

}  // namespace espalier::solver
