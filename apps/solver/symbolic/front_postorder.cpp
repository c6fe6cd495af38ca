#include "solver/symbolic/front_postorder.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "espalier/model/error.h"
#include "espalier/model/free_memory.h"
#include "espalier/model/task_tree.h"
#include "espalier/sequential/tree/best_postorder.h"

namespace espalier::solver {

namespace {

// Fronts without children and parent: what they leave is all that they take, so that they
// go last, in their own order.
std::vector<bool> lonely(const SupernodeTree& tree) {
  std::vector<bool> result(tree.parent.size(), true);
  for (std::int32_t front = 0; front < tree.fronts(); ++front) {
    if (tree.parent[front] < 0) continue;
    result[front] = result[tree.parent[front]] = false;
  }
  return result;
}

constexpr Bytes kDouble = sizeof(double);
// Bytes above the least of any order that no sorting is worth, and the same as a part of
// it: 1 / kPart.
constexpr Bytes kFew = Bytes{64} << 10, kPart = 1024;

Bytes contribution_bytes(const SupernodeTree& tree, std::int32_t front) {
  const Bytes rows = tree.order[front] - tree.pivots[front];
  return kDouble * panel_entries(rows, rows);
}
Bytes panel_bytes(const SupernodeTree& tree, std::int32_t front) {
  return kDouble * panel_entries(tree.pivots[front], tree.order[front]);
}

// Whether all fronts together take so little that every order is as good as any.
bool takes_few_bytes(const SupernodeTree& tree) {
  Bytes all = 0;
  for (std::int32_t front = 0; front < tree.fronts() && all <= kFew; ++front)
    all += panel_bytes(tree, front) + contribution_bytes(tree, front);
  return all <= kFew;
}

// Whether an order of the fronts, children first, is as good as any: what they need in it
// against a lower bound, the most that a front needs with the factor below it.
bool will_do(const SupernodeTree& tree, std::span<const std::int32_t> order) {
  std::vector<Bytes> factor(tree.parent.size(), 0);  // of the subtrees
  std::vector<Bytes> inputs(tree.parent.size(), 0);  // contribution blocks of children
  Bytes all = 0, stack = 0, needed = 0, least = 0;
  for (const std::int32_t front : order) {
    const Bytes panel = panel_bytes(tree, front), own = contribution_bytes(tree, front);
    all = checked_add(all, panel);
    factor[front] += panel;
    needed = std::max(needed, checked_add(all, checked_add(stack, own)));
    least = std::max(least, factor[front] + inputs[front] + own);
    stack += own - inputs[front];
    if (tree.parent[front] < 0) continue;
    factor[tree.parent[front]] += factor[front];
    inputs[tree.parent[front]] += own;
  }
  least = std::max(least, all);
  return needed - least <= std::max(kFew, least / kPart);
}

// Of siblings leaves last, each kind by its numbers: what thousands of leaves of a hub
// leave to it does not wait for the subtree of another one.
std::vector<std::int32_t> leaves_last(const SupernodeTree& tree) {
  const std::size_t fronts = tree.parent.size();
  // Of all roots together at the end of `taken`.
  std::vector<std::int32_t> size(fronts, 1), begin(fronts), taken(fronts + 1, 0);
  for (std::size_t front = 0; front < fronts; ++front)
    if (tree.parent[front] >= 0) size[tree.parent[front]] += size[front];
  for (const bool leaves : {false, true})
    for (std::size_t front = 0; front < fronts; ++front) {
      if ((size[front] == 1) != leaves) continue;
      const std::int32_t parent = tree.parent[front];
      std::int32_t& before =
          taken[parent < 0 ? fronts : static_cast<std::size_t>(parent)];
      begin[front] = before;
      before += size[front];
    }
  std::vector<std::int32_t> order(fronts);
  for (std::size_t front = fronts; front-- > 0;) {
    if (tree.parent[front] >= 0) begin[front] += begin[tree.parent[front]];
    order[begin[front] + size[front] - 1] = static_cast<std::int32_t>(front);
  }
  return order;
}

}  // namespace

std::vector<std::int32_t> front_postorder(const SupernodeTree& tree) {
  std::vector<std::int32_t> order(tree.parent.size());
  std::iota(order.begin(), order.end(), 0);
  if (takes_few_bytes(tree) ||
      std::ranges::all_of(tree.parent, [](auto above) { return above < 0; }) ||
      will_do(tree, order))
    return order;
  order = leaves_last(tree);
  if (will_do(tree, order)) return order;
  order.clear();
  const std::vector<bool> alone = lonely(tree);
  std::vector<std::int32_t> front_of, task_of(tree.parent.size(), -1);
  for (std::int32_t front = 0; front < tree.fronts(); ++front) {
    if (alone[front]) continue;
    task_of[front] = static_cast<std::int32_t>(front_of.size());
    front_of.push_back(front);
  }
  std::vector<Task> tasks(front_of.size());
  for (std::size_t k = 0; k < tasks.size(); ++k) {
    Task& task = tasks[k];
    const std::int32_t front = front_of[k];
    if (tree.parent[front] >= 0)
      task.parent = task_id(static_cast<std::size_t>(task_of[tree.parent[front]]));
    task.output_size = contribution_bytes(tree, front);
    task.retained_size = panel_bytes(tree, front);
  }
  const TaskTree task_tree(tasks);
  free_memory(tasks);
  for (const TaskId task : best_postorder(task_tree).order)
    order.push_back(front_of[index(task)]);
  for (std::int32_t front = 0; front < tree.fronts(); ++front)
    if (alone[front]) order.push_back(front);
  return order;
}

}  // namespace espalier::solver
