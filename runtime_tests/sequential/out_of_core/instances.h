#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "espalier/model/validate.h"
#include "espalier/sequential/out_of_core/furthest_in_future.h"
#include "espalier/sequential/out_of_core/replay_out_of_core.h"
#include "support/random_tree.h"

namespace espalier::support {

/// A tree of the literature: a task needs max(inputs, output). `parent` of the root: -1.
inline TaskTree atomic_tree(const std::vector<int>& parent,
                            const std::vector<Bytes>& output) {
  std::vector<Task> tasks(parent.size());
  std::vector<Bytes> input(parent.size(), 0);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].output_size = output[i];
    if (parent[i] < 0) continue;
    tasks[i].parent = task_id(static_cast<std::size_t>(parent[i]));
    input[static_cast<std::size_t>(parent[i])] += output[i];
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].execution_size = -std::min(input[i], output[i]);
  }
  return TaskTree(tasks);
}

/// The plan is carried out as it says.
inline void expect_kept(const TaskTree& tree, const OutOfCorePlan& plan) {
  const OutOfCoreReplay replay = replay_out_of_core(tree, plan);
  ASSERT_LE(replay.peak, plan.bound) << describe(tree) << describe(plan.order);
  ASSERT_EQ(replay.written, plan.written) << describe(tree) << describe(plan.order);
  ASSERT_EQ(replay.read, plan.read) << describe(tree) << describe(plan.order);
}

inline void for_each_order(const TaskTree& tree,
                           const std::function<void(const std::vector<TaskId>&)>& visit) {
  std::vector<TaskId> order;
  std::vector<bool> done(tree.size(), false);
  const std::function<void()> extend = [&] {
    if (order.size() == tree.size()) return visit(order);
    for (std::size_t i = 0; i < tree.size(); ++i) {
      const auto children = tree.children(task_id(i));
      const bool ready = std::all_of(children.begin(), children.end(),
                                     [&](TaskId c) { return done[index(c)]; });
      if (done[i] || !ready) continue;
      done[i] = true;
      order.push_back(task_id(i));
      extend();
      order.pop_back();
      done[i] = false;
    }
  };
  extend();
}

/// The fewest bytes that FiF moves over all orders.
inline Bytes exact_moved(const TaskTree& tree, Bytes bound) {
  Bytes least = std::numeric_limits<Bytes>::max();
  for_each_order(tree, [&](const std::vector<TaskId>& order) {
    least = std::min(least, furthest_in_future(tree, order, bound)->moved());
  });
  return least;
}

}  // namespace espalier::support
