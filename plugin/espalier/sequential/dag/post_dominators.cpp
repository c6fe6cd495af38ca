#include "espalier/sequential/dag/post_dominators.h"

#include <cstddef>
#include <utility>

namespace espalier {
namespace {

// A tree that grows at its leaves. The root, which is no task, has number `tasks`.
class GrowingTree {
 public:
  explicit GrowingTree(std::size_t tasks)
      : parent_(tasks + 1, BlockTaskId{static_cast<std::int32_t>(tasks)}),
        jump_(parent_),
        depth_(tasks + 1, 0) {}

  [[nodiscard]] BlockTaskId root() const {
    return BlockTaskId{static_cast<std::int32_t>(parent_.size() - 1)};
  }
  [[nodiscard]] BlockTaskId parent(BlockTaskId node) const { return parent_[node]; }

  void attach(BlockTaskId node, BlockTaskId parent) {
    parent_[node] = parent;
    depth_[node] = depth_[parent] + 1;
    const BlockTaskId jump = jump_[parent];
    const bool equal_jumps =
        depth_[parent] - depth_[jump] == depth_[jump] - depth_[jump_[jump]];
    jump_[node] = equal_jumps ? jump_[jump] : parent;
  }

  [[nodiscard]] BlockTaskId common_ancestor(BlockTaskId a, BlockTaskId b) const {
    if (depth_[a] < depth_[b]) std::swap(a, b);
    while (depth_[a] > depth_[b]) {
      a = depth_[jump_[a]] >= depth_[b] ? jump_[a] : parent_[a];
    }
    while (a != b) {
      const bool jumps = jump_[a] != jump_[b];
      a = jumps ? jump_[a] : parent_[a];
      b = jumps ? jump_[b] : parent_[b];
    }
    return a;
  }

 private:
  IdVector<BlockTaskId, BlockTaskId> parent_, jump_;
  IdVector<BlockTaskId, std::int32_t> depth_;
};

}  // namespace

IdVector<BlockTaskId, BlockTaskId> post_dominators(const BlockIndex& block) {
  GrowingTree tree(block.size());
  const std::vector<BlockTaskId> order = block.topological_order();
  for (auto task = order.rbegin(); task != order.rend(); ++task) {
    const auto successors = block.successors(*task);
    BlockTaskId above = successors.empty() ? tree.root() : successors.front();
    for (const BlockTaskId after : successors) above = tree.common_ancestor(above, after);
    tree.attach(*task, above);
  }
  IdVector<BlockTaskId, BlockTaskId> result(block.size());
  for (const BlockTaskId task : result.ids()) {
    const BlockTaskId above = tree.parent(task);
    result[task] = above == tree.root() ? kNoBlockTask : above;
  }
  return result;
}

}  // namespace espalier
