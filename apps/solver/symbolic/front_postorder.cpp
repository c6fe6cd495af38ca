#include "solver/symbolic/front_postorder.h"

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

}  // namespace

std::vector<std::int32_t> front_postorder(const SupernodeTree& tree) {
  constexpr Bytes kDouble = sizeof(double);
  const std::vector<bool> alone = lonely(tree);
  std::vector<std::int32_t> order, front_of, task_of(tree.parent.size(), -1);
  order.reserve(tree.parent.size());
  for (std::int32_t front = 0; front < tree.fronts(); ++front) {
    if (alone[front]) continue;
    task_of[front] = static_cast<std::int32_t>(front_of.size());
    front_of.push_back(front);
  }
  std::vector<Task> tasks(front_of.size());
  for (std::size_t k = 0; k < tasks.size(); ++k) {
    Task& task = tasks[k];
    const std::int32_t front = front_of[k];
    const Bytes contribution = tree.order[front] - tree.pivots[front];
    if (tree.parent[front] >= 0)
      task.parent = task_id(static_cast<std::size_t>(task_of[tree.parent[front]]));
    task.output_size = kDouble * panel_entries(contribution, contribution);
    task.retained_size = kDouble * panel_entries(tree.pivots[front], tree.order[front]);
  }
  const TaskTree task_tree(tasks);
  tasks = {};
  for (const TaskId task : best_postorder(task_tree).order)
    order.push_back(front_of[index(task)]);
  for (std::int32_t front = 0; front < tree.fronts(); ++front)
    if (alone[front]) order.push_back(front);
  return order;
}

}  // namespace espalier::solver
