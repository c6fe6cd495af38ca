#include "espalier/sequential/tree/in_forest.h"

#include <vector>

namespace espalier {
namespace {

// The operator as a task; nullopt: it has more than one reader.
std::optional<Task> task_of(const TaskGraph& graph, TaskId id) {
  Task task;
  task.execution_size = graph.workspace(id);
  task.work = graph.work(id);
  for (const DatumId datum : graph.outputs(id)) {
    const auto readers = graph.consumers(datum);
    if (readers.size() > 1) return std::nullopt;
    if (!readers.empty()) {
      if (task.parent && *task.parent != readers.front()) return std::nullopt;
      task.parent = readers.front();
    }
    if (graph.stays(datum)) {
      task.retained_size += graph.size(datum);
    } else if (readers.empty()) {
      task.execution_size += graph.size(datum);
    } else {
      task.output_size += graph.size(datum);
    }
  }
  return task;
}

}  // namespace

std::optional<TaskTree> in_forest(const TaskGraph& graph) {
  for (std::size_t d = 0; d < graph.data(); ++d) {
    const DatumId datum = datum_id(d);
    if (!graph.producer(datum) && !graph.stays(datum)) return std::nullopt;
  }
  std::vector<Task> tasks;
  tasks.reserve(graph.size());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    auto task = task_of(graph, task_id(i));
    if (!task) return std::nullopt;
    tasks.push_back(*task);
  }
  return TaskTree(tasks);
}

}  // namespace espalier
