#include "solver/distributed/subtree_groups.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "espalier/parallel/worker_share.h"

namespace espalier::solver {
namespace {

struct Subtree {
  Flops work;
  TaskId root;
  friend bool operator<(const Subtree& a, const Subtree& b) {
    return std::pair(a.work, b.root) < std::pair(b.work, a.root);
  }
};

/// Subtrees on the least loaded process each, heaviest first.
struct Packing {
  std::vector<std::pair<TaskId, std::int32_t>> process_of;
  Flops largest = 0;
};

Packing pack(std::vector<Subtree> subtrees, std::int32_t processes) {
  using Load = std::pair<Flops, std::int32_t>;
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (std::int32_t p = 0; p < processes; ++p) loads.emplace(0, p);
  std::sort(subtrees.rbegin(), subtrees.rend());
  Packing packing;
  for (const Subtree& subtree : subtrees) {
    const auto [load, process] = loads.top();
    loads.pop();
    loads.emplace(load + subtree.work, process);
    packing.process_of.emplace_back(subtree.root, process);
    packing.largest = std::max(packing.largest, load + subtree.work);
  }
  return packing;
}

// Packed again after each cut while there are few subtrees, later after some.
constexpr std::size_t kCutsPerPacking = 64;

}  // namespace

std::vector<WorkerRange> subtree_groups(const TaskTree& tree, std::int32_t processes,
                                        const std::vector<bool>& may_share, double most) {
  check_workers(processes);
  const std::vector<Flops> work = subtree_works(tree);
  std::vector<Subtree> subtrees;  // a heap
  Flops all = 0, inside = 0;
  const auto insert = [&](TaskId root) {
    subtrees.push_back({work[index(root)], root});
    std::push_heap(subtrees.begin(), subtrees.end());
    inside += work[index(root)];
  };
  for (const TaskId root : tree.roots()) {
    insert(root);
    all += work[index(root)];
  }
  const Flops limit = most * all / processes;
  std::size_t cuts = 1;  // since the last packing
  while (!subtrees.empty()) {
    const Subtree heaviest = subtrees.front();
    if (heaviest.work <= limit && inside <= limit * processes &&
        cuts * kCutsPerPacking >= subtrees.size()) {
      cuts = 0;
      if (pack(subtrees, processes).largest <= limit) break;
    }
    if (!may_share[index(heaviest.root)]) break;
    ++cuts;
    std::pop_heap(subtrees.begin(), subtrees.end());
    subtrees.pop_back();
    inside -= heaviest.work;
    for (const TaskId child : tree.children(heaviest.root)) insert(child);
  }
  std::vector<WorkerRange> group(tree.size(), {0, processes});
  for (const auto& [root, process] : pack(subtrees, processes).process_of)
    group[index(root)] = {process, 1};
  // Down from the roots of the subtrees: parents come after children in postorder.
  const auto order = tree.postorder();
  for (auto task = order.rbegin(); task != order.rend(); ++task)
    if (const auto parent = tree.parent(*task);
        parent && group[index(*parent)].count == 1)
      group[index(*task)] = group[index(*parent)];
  return group;
}

}  // namespace espalier::solver
