#include "solver/cluster/subtree_groups.h"

#include <algorithm>
#include <numeric>

#include "espalier/parallel/worker_share.h"

namespace espalier::solver {
namespace {

struct Subtree {
  TaskId root;
  Flops work;
};

// The process of each subtree, heaviest first. @return the work of the one with most
Flops pack(const std::vector<Subtree>& subtrees, std::vector<Flops>& load,
           std::vector<std::int32_t>& process) {
  std::fill(load.begin(), load.end(), 0);
  process.clear();
  for (const Subtree& subtree : subtrees) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += subtree.work;
    process.push_back(static_cast<std::int32_t>(least - load.begin()));
  }
  return *std::max_element(load.begin(), load.end());
}

}  // namespace

std::vector<WorkerRange> subtree_groups(const TaskTree& tree, std::int32_t processes,
                                        const std::vector<bool>& may_share, double most) {
  check_workers(processes);
  const std::vector<Flops> work = subtree_works(tree);
  std::vector<Subtree> subtrees;  // by decreasing work
  const auto insert = [&](TaskId root) {
    const Subtree subtree{root, work[index(root)]};
    subtrees.insert(std::upper_bound(subtrees.begin(), subtrees.end(), subtree,
                                     [](const Subtree& a, const Subtree& b) {
                                       return a.work > b.work;
                                     }),
                    subtree);
  };
  Flops all = 0;
  for (const TaskId root : tree.roots()) {
    insert(root);
    all += work[index(root)];
  }
  std::vector<WorkerRange> group(tree.size(), {0, processes});
  std::vector<Flops> load(static_cast<std::size_t>(processes));
  std::vector<std::int32_t> process;
  while (pack(subtrees, load, process) > most * all / processes) {
    const TaskId heaviest = subtrees.front().root;
    if (!may_share[index(heaviest)]) break;
    subtrees.erase(subtrees.begin());
    for (const TaskId child : tree.children(heaviest)) insert(child);
  }
  // Down from the roots of the subtrees: parents come after children in postorder.
  for (std::size_t k = 0; k < subtrees.size(); ++k)
    group[index(subtrees[k].root)] = {process[k], 1};
  const auto order = tree.postorder();
  for (auto task = order.rbegin(); task != order.rend(); ++task)
    if (const auto parent = tree.parent(*task);
        parent && group[index(*parent)].count == 1)
      group[index(*task)] = group[index(*parent)];
  return group;
}

}  // namespace espalier::solver
