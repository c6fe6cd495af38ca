#include "solver/tree/spill_plan.h"

#include <algorithm>

#include "espalier/model/replay.h"
#include "espalier/sequential/tree/tree_orders.h"

namespace espalier::solver {
namespace {

// Candidates in the order in which they leave memory.
struct Candidates {
  std::vector<std::int32_t> factors, contributions;  // nodes
  [[nodiscard]] std::size_t size() const { return factors.size() + contributions.size(); }
};

Candidates candidates(const AssemblyTree& tree, const NodeOrder& order) {
  const auto n = static_cast<std::int32_t>(tree.nodes.size());
  std::vector<std::int32_t> place(n);
  const Traversal traversal = order.of(tree.tasks);
  for (std::int32_t k = 0; k < n; ++k) place[index(traversal.order[k])] = k;
  Candidates result;
  for (std::int32_t i = 0; i < n; ++i)
    if (tree.nodes[i].factor_bytes > 0) result.factors.push_back(i);
  std::sort(result.factors.begin(), result.factors.end(),
            [&](std::int32_t a, std::int32_t b) { return place[a] < place[b]; });
  std::vector<std::int32_t> wait(n, 0);
  for (std::int32_t i = 0; i < n; ++i) {
    const auto parent = tree.tasks.parent(task_id(static_cast<std::size_t>(i)));
    if (!parent || tree.nodes[i].contribution_bytes == 0 ||
        tree.nodes[index(*parent)].shared)
      continue;
    wait[i] = place[index(*parent)] - place[i];
    result.contributions.push_back(i);
  }
  std::stable_sort(result.contributions.begin(), result.contributions.end(),
                   [&](std::int32_t a, std::int32_t b) { return wait[a] > wait[b]; });
  return result;
}

// The first `count` candidates go to the file. @return its size
Bytes send(const Symbolic& symbolic, AssemblyTree& tree, const Candidates& from,
           std::size_t count) {
  for (AssemblyTree::Node& node : tree.nodes) node.factor_at = node.contribution_at = -1;
  Bytes bytes = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const bool factor = k < from.factors.size();
    AssemblyTree::Node& node =
        tree.nodes[factor ? from.factors[k]
                          : from.contributions[k - from.factors.size()]];
    (factor ? node.factor_at : node.contribution_at) = bytes;
    bytes = checked_add(bytes, factor ? node.factor_bytes : node.contribution_bytes);
  }
  describe_tasks(symbolic, tree);
  return bytes;
}

}  // namespace

Traversal NodeOrder::of(const TaskTree& tasks) const {
  if (!is_given_) return sequential_order(tasks, kind_);
  return {{given_.begin(), given_.end()}, replay(tasks, given_).peak};
}

Bytes least_bound(const TaskTree& tasks, const NodeOrder& order) {
  return order.of(tasks).peak;
}

Bytes plan_spill(const Symbolic& symbolic, AssemblyTree& tree, const NodeOrder& order,
                 Bytes bound) {
  const Candidates from = candidates(tree, order);
  std::size_t low = 0, high = from.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    send(symbolic, tree, from, middle);
    if (least_bound(tree.tasks, order) <= bound)
      high = middle;
    else
      low = middle + 1;
  }
  return send(symbolic, tree, from, low);
}

Bytes spill_everything(const Symbolic& symbolic, AssemblyTree& tree,
                       const NodeOrder& order) {
  const Candidates from = candidates(tree, order);
  send(symbolic, tree, from, from.size());
  return least_bound(tree.tasks, order);
}

}  // namespace espalier::solver
