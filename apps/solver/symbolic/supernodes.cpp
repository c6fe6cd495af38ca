#include "solver/symbolic/supernodes.h"

namespace espalier::solver {

SupernodeTree fundamental_supernodes(std::span<const std::int32_t> parent,
                                     std::span<const std::int32_t> count) {
  const auto size = static_cast<std::int32_t>(parent.size());
  std::vector<std::int8_t> children(parent.size(), 0);  // 2: two or more
  for (std::int32_t above : parent) {
    if (above >= 0 && children[above] < 2) ++children[above];
  }
  SupernodeTree tree;
  tree.front_of_column.resize(parent.size());
  tree.pivots.reserve(parent.size());
  tree.order.reserve(parent.size());
  for (std::int32_t column = 0; column < size; ++column) {
    const bool continues = column > 0 && parent[column - 1] == column &&
                           children[column] == 1 &&
                           count[column - 1] == count[column] + 1;
    if (continues) {
      ++tree.pivots.back();
    } else {
      tree.pivots.push_back(1);
      tree.order.push_back(count[column]);
    }
    tree.front_of_column[column] = static_cast<std::int32_t>(tree.pivots.size()) - 1;
  }
  // The parent of a front is the front of its last column's parent.
  tree.parent.resize(tree.pivots.size());
  for (std::int32_t column = 0; column < size; ++column) {
    const std::int32_t above = parent[column];
    tree.parent[tree.front_of_column[column]] =
        above < 0 ? -1 : tree.front_of_column[above];
  }
  return tree;
}

}  // namespace espalier::solver
