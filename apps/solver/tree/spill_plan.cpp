#include "solver/tree/spill_plan.h"

#include <algorithm>
#include <numeric>

#include "espalier/sequential/tree/tree_orders.h"

namespace espalier::solver {
namespace {

// Candidates in the order in which they leave memory.
struct Candidates {
  std::vector<std::int32_t> factors, contributions;  // nodes
  [[nodiscard]] std::size_t size() const { return factors.size() + contributions.size(); }
};

Candidates candidates(const AssemblyTree& tree, OrderKind order) {
  const auto n = static_cast<std::int32_t>(tree.nodes.size());
  std::vector<std::int32_t> place(n);
  const Traversal traversal = sequential_order(tree.tasks, order);
  for (std::int32_t k = 0; k < n; ++k) place[index(traversal.order[k])] = k;
  Candidates result;
  result.factors.resize(n);
  std::iota(result.factors.begin(), result.factors.end(), 0);
  std::sort(result.factors.begin(), result.factors.end(),
            [&](std::int32_t a, std::int32_t b) { return place[a] < place[b]; });
  std::vector<std::int32_t> wait(n, 0);
  for (std::int32_t i = 0; i < n; ++i) {
    const auto parent = tree.tasks.parent(task_id(static_cast<std::size_t>(i)));
    if (!parent || tree.nodes[i].contribution_bytes == 0) continue;
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

Bytes least_bound(const TaskTree& tasks, OrderKind order) {
  return sequential_order(tasks, order).peak;
}

Bytes plan_spill(const Symbolic& symbolic, AssemblyTree& tree, OrderKind order,
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

Bytes spill_everything(const Symbolic& symbolic, AssemblyTree& tree, OrderKind order) {
  const Candidates from = candidates(tree, order);
  send(symbolic, tree, from, from.size());
  return least_bound(tree.tasks, order);
}

}  // namespace espalier::solver
