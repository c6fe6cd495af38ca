#include "espalier/sequential/tree/heaviest_first.h"

#include <algorithm>
#include <functional>
#include <ranges>
#include <span>
#include <vector>

#include "espalier/model/replay.h"

namespace espalier {

Traversal heaviest_first(const TaskTree& tree) {
  // Work and number of tasks of each subtree, bottom-up.
  std::vector<Flops> work(tree.size());
  std::vector<std::size_t> size(tree.size(), 1);
  for (const TaskId task : tree.postorder()) {
    work[index(task)] += tree.work(task);
    if (const auto parent = tree.parent(task)) {
      work[index(*parent)] += work[index(task)];
      size[index(*parent)] += size[index(task)];
    }
  }
  // Top-down: where each subtree begins. A task stands behind all that is below it.
  std::vector<std::size_t> first(tree.size());
  const auto place = [&](std::span<const TaskId> siblings, std::size_t at) {
    std::vector<TaskId> sorted(siblings.begin(), siblings.end());
    std::ranges::stable_sort(sorted, std::greater(),
                             [&](TaskId task) { return work[index(task)]; });
    for (const TaskId task : sorted) {
      first[index(task)] = at;
      at += size[index(task)];
    }
  };
  place(tree.roots(), 0);
  Traversal result{std::vector<TaskId>(tree.size()), 0};
  for (const TaskId task : tree.postorder() | std::views::reverse) {
    place(tree.children(task), first[index(task)]);
    result.order[first[index(task)] + size[index(task)] - 1] = task;
  }
  result.peak = replay(tree, result.order).peak;
  return result;
}

}  // namespace espalier
