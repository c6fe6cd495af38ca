#include "parallel/instances.h"

#include "espalier/model/replay.h"

namespace espalier {

TaskTree worked_example() {
  constexpr int parent[] = {-1, 0, 0, 1, 1, 2, 2};
  constexpr Bytes output[] = {2, 3, 3, 4, 4, 4, 4};
  constexpr Bytes execution[] = {1, 1, 1, 0, 0, 1, 1};
  constexpr Flops work[] = {2, 3, 3, 2, 4, 2, 2};
  std::vector<Task> tasks(7);
  for (std::size_t i = 0; i < 7; ++i) {
    if (parent[i] >= 0) tasks[i].parent = static_cast<TaskId>(parent[i]);
    tasks[i].output_size = output[i];
    tasks[i].execution_size = execution[i];
    tasks[i].work = work[i];
  }
  return TaskTree(tasks);
}

std::vector<TaskId> ids(std::initializer_list<int> values) {
  std::vector<TaskId> result;
  for (const int value : values) result.push_back(static_cast<TaskId>(value));
  return result;
}

TaskTree random_tree(std::mt19937& random, std::size_t tasks) {
  support::RandomTreeOptions options;
  options.tasks = tasks;
  options.retains = random() % 2 == 0;
  options.root_probability = random() % 3 == 0 ? 0.2 : 0;
  return support::random_tree(random, options);
}

Bytes peak_of(const TaskTree& tree, std::span<const TaskId> order) {
  return replay(tree, order).peak;
}

std::string describe(const TaskTree& tree, std::span<const TaskId> order) {
  return support::describe(tree) + support::describe(order);
}

}  // namespace espalier
