#include "espalier/sequential/out_of_core/plan_out_of_core.h"

#include <algorithm>
#include <utility>

#include "espalier/sequential/out_of_core/furthest_in_future.h"
#include "espalier/sequential/out_of_core/rec_expand.h"
#include "espalier/sequential/tree/best_postorder.h"
#include "espalier/sequential/tree/liu_traversal.h"

namespace espalier {
namespace {

std::vector<TaskId> order_by(OutOfCoreMethod method, const TaskTree& tree, Bytes bound) {
  switch (method) {
    case OutOfCoreMethod::kPostOrderMinIO:
      return post_order_min_io(tree, bound);
    case OutOfCoreMethod::kLiu:
      break;
    case OutOfCoreMethod::kRecExpand:
      return rec_expand(tree, bound);
    case OutOfCoreMethod::kFullRecExpand:
      return rec_expand(tree, bound, {.expansions = RecExpandOptions::kUnlimited});
  }
  return liu_traversal(tree).order;
}

// The order that holds the least of everything.
std::vector<TaskId> order_in_core(OutOfCoreMethod method, const TaskTree& tree) {
  return method == OutOfCoreMethod::kPostOrderMinIO ? best_postorder(tree).order
                                                    : liu_traversal(tree).order;
}

// Whether there are data that nobody reads again before the last task has ended.
bool keeps(const TaskTree& tree) {
  const std::span<const TaskId> tasks = tree.postorder();
  return tree.roots().size() > 1 ||
         std::any_of(tasks.begin(), tasks.end(),
                     [&](TaskId t) { return tree.retained_size(t) > 0; });
}

}  // namespace

Expected<OutOfCorePlan> plan_out_of_core(const TaskTree& tree, Bytes bound,
                                         OutOfCoreMethod method) {
  const Bytes least = least_out_of_core(tree);
  if (bound < least) {
    return tl::make_unexpected(
        Infeasible{Infeasible::Reason::kImpossible, bound, least, least});
  }
  const auto plan_of = [&](const std::vector<TaskId>& order) {
    return detail::furthest_in_future(tree, order, bound, nullptr);
  };
  OutOfCorePlan plan = plan_of(order_by(method, stream_retained(tree), bound));
  if (!keeps(tree)) return plan;
  OutOfCorePlan in_core = plan_of(order_in_core(method, tree));
  return in_core.moved() < plan.moved() ? std::move(in_core) : std::move(plan);
}

std::vector<TaskId> post_order_min_io(const TaskTree& tree, Bytes bound) {
  return capped_postorder(tree, bound);
}

TaskTree stream_retained(const TaskTree& tree) {
  std::vector<Task> tasks(tree.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const TaskId task = task_id(i);
    tasks[i] = {tree.parent(task), tree.output_size(task),
                tree.execution_size(task) + tree.retained_size(task), 0, tree.work(task)};
    if (tasks[i].parent) continue;
    tasks[i].execution_size += std::exchange(tasks[i].output_size, 0);
  }
  return TaskTree(tasks);
}

}  // namespace espalier
