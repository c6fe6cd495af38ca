#include "solver/symbolic/front_postorder.h"

#include "espalier/model/task_tree.h"
#include "espalier/sequential/tree/best_postorder.h"

namespace espalier::solver {

std::vector<std::int32_t> front_postorder(const SupernodeTree& tree) {
  constexpr Bytes kDouble = sizeof(double);
  std::vector<Task> tasks(tree.parent.size());
  for (std::int32_t front = 0; front < tree.fronts(); ++front) {
    Task& task = tasks[front];
    const Bytes contribution = tree.order[front] - tree.pivots[front];
    if (tree.parent[front] >= 0) task.parent = task_id(tree.parent[front]);
    task.output_size = kDouble * panel_entries(contribution, contribution);
    task.retained_size = kDouble * panel_entries(tree.pivots[front], tree.order[front]);
  }
  const TaskTree task_tree(tasks);
  tasks = {};
  std::vector<std::int32_t> order;
  order.reserve(tree.parent.size());
  for (TaskId task : best_postorder(task_tree).order) {
    order.push_back(static_cast<std::int32_t>(index(task)));
  }
  return order;
}

}  // namespace espalier::solver
