#include "parallel/instances.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

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

TaskTree random_tree(std::mt19937& random, std::size_t tasks, std::size_t reach) {
  const auto draw = [&](std::size_t end) {
    return static_cast<std::size_t>(random()) % end;
  };
  if (reach == 0) reach = 1 + draw(tasks);
  std::vector<TaskId> name(tasks);
  for (std::size_t i = 0; i < tasks; ++i) name[i] = task_id(i);
  std::shuffle(name.begin(), name.end(), random);
  const std::size_t size_end = 2 + draw(9);
  const bool retains = draw(2) == 0;
  const bool forest = draw(3) == 0;
  std::vector<Task> list(tasks);
  for (std::size_t i = 0; i < tasks; ++i) {
    Task& task = list[index(name[i])];
    const bool root = i == 0 || (forest && draw(5) == 0);
    if (!root) task.parent = name[i - 1 - draw(std::min(i, reach))];
    task.output_size = static_cast<Bytes>(draw(size_end));
    task.execution_size = static_cast<Bytes>(draw(2) * draw(size_end));
    task.retained_size = static_cast<Bytes>(retains ? draw(2) * draw(size_end) : 0);
    task.work = static_cast<Flops>(draw(10));
  }
  return TaskTree(list);
}

std::vector<TaskId> random_order(const TaskTree& tree, std::mt19937& random) {
  std::vector<std::size_t> children_left(tree.size());
  std::vector<TaskId> ready, order;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    children_left[i] = tree.children(task_id(i)).size();
    if (children_left[i] == 0) ready.push_back(task_id(i));
  }
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    order.push_back(ready.back());
    ready.pop_back();
    const auto parent = tree.parent(order.back());
    if (parent && --children_left[index(*parent)] == 0) ready.push_back(*parent);
  }
  return order;
}

Bytes peak_of(const TaskTree& tree, std::span<const TaskId> order) {
  Bytes resident = 0, peak = 0;
  for (const TaskId task : order) {
    resident += tree.memory_requirement(task) - tree.input_size(task);
    peak = std::max(peak, resident);
    resident -= tree.execution_size(task) + tree.input_size(task);
  }
  return peak;
}

std::string describe(const TaskTree& tree, std::span<const TaskId> order) {
  std::string text;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const TaskId task = task_id(i);
    const auto parent = tree.parent(task);
    text += fmt::format("{} {} {} {} {} {}\n", i, parent ? static_cast<int>(*parent) : -1,
                        tree.output_size(task), tree.execution_size(task),
                        tree.retained_size(task), tree.work(task));
  }
  for (const TaskId task : order) text += fmt::format("{} ", static_cast<int>(task));
  return text;
}

}  // namespace espalier
