#include "espalier/sequential/dag/post_dominators.h"

#include <cstddef>
#include <utility>

namespace espalier {
namespace {

std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }

// A tree that grows at its leaves. The root, which is no task, has number `tasks`.
class GrowingTree {
 public:
  explicit GrowingTree(std::size_t tasks)
      : parent_(tasks + 1, static_cast<std::int32_t>(tasks)),
        jump_(tasks + 1, static_cast<std::int32_t>(tasks)),
        depth_(tasks + 1, 0) {}

  [[nodiscard]] std::int32_t root() const {
    return static_cast<std::int32_t>(parent_.size()) - 1;
  }
  [[nodiscard]] std::int32_t parent(std::int32_t node) const { return parent_[at(node)]; }

  void attach(std::int32_t node, std::int32_t parent) {
    parent_[at(node)] = parent;
    depth_[at(node)] = depth_[at(parent)] + 1;
    const std::int32_t jump = jump_[at(parent)];
    const bool equal_jumps = depth_[at(parent)] - depth_[at(jump)] ==
                             depth_[at(jump)] - depth_[at(jump_[at(jump)])];
    jump_[at(node)] = equal_jumps ? jump_[at(jump)] : parent;
  }

  [[nodiscard]] std::int32_t common_ancestor(std::int32_t a, std::int32_t b) const {
    if (depth_[at(a)] < depth_[at(b)]) std::swap(a, b);
    while (depth_[at(a)] > depth_[at(b)]) {
      a = depth_[at(jump_[at(a)])] >= depth_[at(b)] ? jump_[at(a)] : parent_[at(a)];
    }
    while (a != b) {
      const bool jumps = jump_[at(a)] != jump_[at(b)];
      a = jumps ? jump_[at(a)] : parent_[at(a)];
      b = jumps ? jump_[at(b)] : parent_[at(b)];
    }
    return a;
  }

 private:
  std::vector<std::int32_t> parent_, jump_, depth_;
};

}  // namespace

std::vector<std::int32_t> post_dominators(const BlockIndex& block) {
  GrowingTree tree(block.size());
  const std::vector<std::int32_t> order = block.topological_order();
  for (auto task = order.rbegin(); task != order.rend(); ++task) {
    const auto successors = block.successors(*task);
    std::int32_t above = successors.empty() ? tree.root() : successors.front();
    for (const std::int32_t after : successors)
      above = tree.common_ancestor(above, after);
    tree.attach(*task, above);
  }
  std::vector<std::int32_t> result(block.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::int32_t above = tree.parent(static_cast<std::int32_t>(i));
    result[i] = above == tree.root() ? -1 : above;
  }
  return result;
}

}  // namespace espalier
