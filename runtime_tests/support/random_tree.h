#pragma once

// Small seeded random forests for comparisons with brute force.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "espalier/model/task_tree.h"

namespace espalier::support {

struct RandomTreeOptions {
  std::size_t tasks = 8;
  Bytes largest_size = 9;
  bool retains = false;         ///< retained sizes other than 0
  double root_probability = 0;  ///< that a task but the first is one more root
  bool reuses = false;          ///< outputs that take the place of inputs: negative m
};

/// Shapes from chains to stars, sizes that are often 0, ids in random order.
inline std::vector<Task> random_tasks(std::mt19937& random, RandomTreeOptions options) {
  std::vector<std::size_t> id(options.tasks);
  std::iota(id.begin(), id.end(), 0);
  std::shuffle(id.begin(), id.end(), random);
  const auto draw = [&random](Bytes last) {
    return std::uniform_int_distribution<Bytes>(0, last)(random);
  };
  const auto reach = static_cast<std::size_t>(1 + draw(static_cast<Bytes>(id.size())));
  const auto size = [&] { return draw(3) == 0 ? 0 : draw(options.largest_size); };
  std::bernoulli_distribution is_root(options.root_probability);
  std::vector<Task> tasks(options.tasks);
  for (std::size_t k = 0; k < tasks.size(); ++k) {
    Task& task = tasks[id[k]];
    if (k > 0 && !is_root(random)) {
      const auto back = static_cast<std::size_t>(draw(static_cast<Bytes>(reach) - 1));
      task.parent = task_id(id[k - 1 - std::min(back, k - 1)]);
    }
    task.output_size = size();
    task.execution_size = size();
    task.retained_size = options.retains ? size() : 0;
    task.work = static_cast<Flops>(draw(9));
  }
  if (!options.reuses) return tasks;
  std::vector<Bytes> input(tasks.size(), 0);
  for (const Task& task : tasks)
    if (task.parent) input[index(*task.parent)] += task.output_size;
  for (std::size_t k = 0; k < tasks.size(); ++k)
    if (draw(1) == 0)
      tasks[k].execution_size =
          -draw(std::min(input[k], tasks[k].output_size + tasks[k].retained_size));
  return tasks;
}

inline TaskTree random_tree(std::mt19937& random, RandomTreeOptions options) {
  return TaskTree(random_tasks(random, options));
}

/// One of `count` instances of varied size and kind; the first ones are the smallest.
inline TaskTree varied_tree(std::mt19937& random, int instance, std::size_t most_tasks) {
  return random_tree(random,
                     {.tasks = 1 + static_cast<std::size_t>(instance) % most_tasks,
                      .retains = instance % 2 == 1,
                      .root_probability = instance % 3 == 2 ? 0.2 : 0,
                      .reuses = instance % 4 >= 2});
}

/// A topological order drawn at random: in general not a postorder.
inline std::vector<TaskId> random_order(const TaskTree& tree, std::mt19937& random) {
  std::vector<std::size_t> pending(tree.size());
  std::vector<TaskId> ready, order;
  for (const TaskId task : tree.postorder()) {
    pending[index(task)] = tree.children(task).size();
    if (pending[index(task)] == 0) ready.push_back(task);
  }
  while (!ready.empty()) {
    std::uniform_int_distribution<std::size_t> pick(0, ready.size() - 1);
    std::swap(ready[pick(random)], ready.back());
    order.push_back(ready.back());
    ready.pop_back();
    const auto parent = tree.parent(order.back());
    if (parent && --pending[index(*parent)] == 0) ready.push_back(*parent);
  }
  return order;
}

/// The instance, as the tree file has it: id parent f m w r.
inline std::string describe(const TaskTree& tree) {
  std::string text;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const TaskId task = task_id(i);
    const auto parent = tree.parent(task);
    text += fmt::format("{} {} {} {} {} {}\n", i,
                        parent ? static_cast<std::int32_t>(*parent) : -1,
                        tree.output_size(task), tree.execution_size(task),
                        tree.work(task), tree.retained_size(task));
  }
  return text;
}

/// Tasks as "3 1 2".
inline std::string describe(std::span<const TaskId> order) {
  std::string text;
  for (const TaskId task : order) {
    text += fmt::format("{} ", static_cast<std::int32_t>(task));
  }
  return text;
}

}  // namespace espalier::support
