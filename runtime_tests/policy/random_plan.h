#pragma once

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "espalier/model/plan.h"
#include "espalier/sequential/tree/best_postorder.h"

namespace espalier::policy {

/// A random tree or forest of `size` tasks, sizes up to 20 bytes, zeros among them.
inline std::vector<Task> random_tasks(std::size_t size, std::mt19937& random) {
  std::vector<Task> tasks(size);
  std::uniform_int_distribution<Bytes> bytes(-4, 20);
  for (std::size_t i = 0; i < size; ++i) {
    Task& task = tasks[i];
    // A parent among the last few gives depth, one among all gives width.
    if (i > 0 && random() % 32 != 0) {
      const std::size_t reach = random() % 2 == 0 ? i : std::min<std::size_t>(i, 3);
      task.parent = task_id(i - 1 - random() % reach);
    }
    task.output_size = std::max<Bytes>(0, bytes(random));
    task.execution_size = std::max<Bytes>(0, bytes(random));
    if (random() % 4 == 0) task.retained_size = std::max<Bytes>(0, bytes(random));
    task.work = static_cast<double>(random() % 100);
  }
  return tasks;
}

/// The tree with its best postorder as witness, `slack` bytes above its peak as bound,
/// and no preference of workers: a plan that needs no planner.
inline std::shared_ptr<const Plan> simple_plan(const std::vector<Task>& tasks,
                                               Bytes slack) {
  auto plan = std::make_shared<Plan>();
  plan->tree = std::make_shared<const TaskTree>(tasks);
  Traversal traversal = best_postorder(*plan->tree);
  plan->memory_bound = traversal.peak + slack;
  plan->witness_peak = plan->least_bytes = traversal.peak;
  plan->witness = std::move(traversal.order);
  plan->mapping.assign(tasks.size(), {0, 1});
  plan->priority.assign(tasks.size(), 0);
  return plan;
}

}  // namespace espalier::policy
