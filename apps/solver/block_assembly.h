#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "solver/front.h"

namespace espalier::solver {

/// The assembly of a tiled front, block column by block column, in memory that grows with
/// it: a block takes its pages when it begins, and what no later block reads of the
/// children's contribution blocks is given back when it is done. AssemblyTree::Profile
/// says what that needs when blocks begin in turn, `window` of them at once.
template <class T>
class BlockAssembly {
 public:
  /// @param front  of a tiled node, allocated by allocate_node(); outlives this
  BlockAssembly(const FrontContext<T>& context, Front<T>& front);

  /// Assembles a block column of panel or contribution block. Safe from any thread, each
  /// block once. @throws Error when the system has no memory or the file cannot be read
  void assemble(std::int32_t block);

 private:
  void take_memory(const BlockColumn<T>& columns);
  void give_back(std::int32_t block);

  const FrontContext<T>& context_;
  Front<T>& front_;
  std::int32_t node_;
  PageBuffer positions_;  // of all children's rows, one child after the other
  std::mutex mutex_;      // of what follows, and of filling and draining buffers
  std::vector<std::int8_t> assembled_;  // of each block
  std::int32_t assembled_first_ = 0;    // so many blocks in a row
};

}  // namespace espalier::solver
