#pragma once

// Plans of small random trees, and the tree drawn in espalier/model/task_tree.h.

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "espalier/parallel/make_plan.h"
#include "support/random_tree.h"

namespace espalier::report {

struct Instance {
  Plan plan;
  std::vector<double> max_workers;
  [[nodiscard]] const TaskTree& tree() const { return *plan.tree; }
  [[nodiscard]] std::string text() const {
    return fmt::format("{}workers {}, bound {}, max_workers {}\n",
                       support::describe(*plan.tree), plan.workers, plan.memory_bound,
                       fmt::join(max_workers, " "));
  }
};

inline Plan plan_of(const std::vector<Task>& tasks, const PlanOptions& options) {
  return make_plan(std::make_shared<const TaskTree>(tasks), options).value();
}

/// Root 0 with children 1 (a) and 2 (b); 7 bytes suffice.
inline Plan drawn_plan(std::optional<Bytes> bound) {
  PlanOptions options;
  options.workers = 2;
  options.memory_bound = bound;
  const TaskId root{0};
  return plan_of({Task{{}, 1, 1, 0, 1}, Task{root, 2, 0, 0, 1}, Task{root, 3, 4, 0, 1}},
                 options);
}

/// One of many: 1 to 5 workers, bounds from the least on, tasks of one worker or of more.
inline Instance random_instance(std::mt19937& random, int number, double least_work) {
  const auto draw = [&random](int last) {
    return std::uniform_int_distribution<int>(0, last)(random);
  };
  TaskTree drawn = support::varied_tree(random, number, 40);
  std::vector<Task> tasks(drawn.size());
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const TaskId task = task_id(i);
    tasks[i] = {drawn.parent(task), drawn.output_size(task), drawn.execution_size(task),
                drawn.retained_size(task), std::max(drawn.work(task), least_work)};
  }
  Instance instance;
  PlanOptions options;
  options.workers = 1 + draw(4);
  if (draw(1) == 0) {
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      options.max_workers.push_back(1 + 0.5 * draw(8));
    }
  }
  instance.max_workers = options.max_workers;
  instance.plan = plan_of(tasks, options);
  options.memory_bound = instance.plan.least_bytes * (4 + draw(6)) / 4;
  instance.plan = plan_of(tasks, options);
  return instance;
}

}  // namespace espalier::report
