#include "solver/tree/tree_plan.h"

#include <cerrno>
#include <vector>

#include "espalier/model/error.h"

namespace espalier::solver {
namespace {

// The C interface's view of a tree of the planner.
std::unique_ptr<espalier_tree, void (*)(espalier_tree*)> declare(const TaskTree& tasks) {
  const std::size_t n = tasks.size();
  std::vector<std::int32_t> parent(n);
  std::vector<Bytes> output(n), execution(n), retained(n);
  std::vector<Flops> work(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto above = tasks.parent(task_id(i));
    parent[i] = above ? static_cast<std::int32_t>(index(*above)) : -1;
    output[i] = tasks.output_size(task_id(i));
    execution[i] = tasks.execution_size(task_id(i));
    retained[i] = tasks.retained_size(task_id(i));
    work[i] = tasks.work(task_id(i));
  }
  espalier_tree* tree = nullptr;
  if (espalier_tree_create(&tree, static_cast<std::int32_t>(n), parent.data(),
                           output.data(), execution.data(), retained.data(),
                           work.data()) != 0)
    throw Error(espalier_last_error());
  return {tree, espalier_tree_destroy};
}

std::int32_t order_of(const TreePlanOptions& options, std::span<const TaskId> given) {
  if (!given.empty()) return ESPALIER_ORDER_GIVEN;
  return static_cast<std::int32_t>(options.order);  // the numbers are the same
}

}  // namespace

TreePlan make_tree_plan(const TaskTree& tasks, std::span<const double> max_workers,
                        const TreePlanOptions& options, Bytes bound,
                        std::span<const TaskId> order) {
  std::vector<std::int32_t> given;
  for (const TaskId task : order) given.push_back(static_cast<std::int32_t>(index(task)));
  espalier_plan_options request = ESPALIER_PLAN_OPTIONS_INIT;
  request.memory_bound = bound;
  request.workers = options.workers;
  request.order = order_of(options, order);
  request.mapping = static_cast<std::int32_t>(options.mapping);  // likewise
  request.max_workers = max_workers.data();
  request.given_order = given.data();
  espalier_plan* plan = nullptr;
  const int status = espalier_plan_create(&plan, declare(tasks).get(), &request, nullptr);
  if (status != 0 && status != -ENOMEM) throw Error(espalier_last_error());
  return {plan, espalier_plan_destroy};
}

}  // namespace espalier::solver
