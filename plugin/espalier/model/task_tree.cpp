#include "espalier/model/task_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "espalier/model/error.h"
#include "espalier/model/work_sum.h"

namespace espalier {
namespace {

void check_size(std::size_t task, const char* what, Bytes size) {
  if (size < 0) {
    throw InvalidInput(fmt::format("task {}: {} {} is negative", task, what, size));
  }
}

void check_task(std::span<const Task> tasks, std::size_t task) {
  const Task& t = tasks[task];
  if (t.parent && index(*t.parent) >= tasks.size()) {
    throw InvalidInput(fmt::format("task {}: parent {} is not one of the {} tasks", task,
                                   static_cast<std::int32_t>(*t.parent), tasks.size()));
  }
  check_size(task, "output size", t.output_size);
  check_size(task, "retained size", t.retained_size);
  if (!std::isfinite(t.work) || t.work < 0) {
    throw InvalidInput(
        fmt::format("task {}: work {} is negative or not finite", task, t.work));
  }
}

}  // namespace

std::optional<TaskId> task_on_cycle(std::span<const Task> tasks) {
  // Each walk towards the root marks its tasks with its own number and stops at a mark.
  std::vector<std::size_t> walk_of(tasks.size(), 0);
  for (std::size_t first = 0; first < tasks.size(); ++first) {
    const std::size_t walk = first + 1;
    std::size_t task = first;
    while (walk_of[task] == 0 && tasks[task].parent) {
      walk_of[task] = walk;
      task = index(*tasks[task].parent);
    }
    if (walk_of[task] == walk) return task_id(task);
  }
  return std::nullopt;
}

TaskTree::TaskTree(std::span<const Task> tasks) {
  const std::size_t n = tasks.size();
  if (n > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw InvalidInput(fmt::format("{} tasks are more than 2^31 - 1", n));
  }
  parent_.resize(n);
  output_.resize(n);
  execution_.resize(n);
  retained_.resize(n);
  input_.resize(n);
  work_.resize(n);
  first_child_.resize(n + 1);
  Bytes total = 0;
  Flops work = 0;
  for (std::size_t i = 0; i < n; ++i) {
    check_task(tasks, i);
    const Task& t = tasks[i];
    output_[i] = t.output_size;
    execution_[i] = t.execution_size;
    retained_[i] = t.retained_size;
    work_[i] = t.work;
    total = checked_add(total, t.output_size);
    total = checked_add(total, std::max<Bytes>(t.execution_size, 0));
    total = checked_add(total, t.retained_size);
    work = add_work(work, t.work);
    parent_[i] = t.parent ? static_cast<std::int32_t>(*t.parent) : -1;
    if (t.parent) {
      ++first_child_[index(*t.parent) + 1];
      input_[index(*t.parent)] += t.output_size;  // at most the total
    } else {
      roots_.push_back(task_id(i));
    }
  }
  for (std::size_t i = 0; i < n; ++i) check_reuse(i);
  list_children();
  list_postorder();
  if (postorder_.size() < n) {
    throw InvalidInput(fmt::format("task {} is its own ancestor",
                                   static_cast<std::int32_t>(*task_on_cycle(tasks))));
  }
}

// What takes the place of something is there, and so is its place.
void TaskTree::check_reuse(std::size_t task) const {
  const Bytes most = std::min(input_[task], output_[task] + retained_[task]);
  if (execution_[task] < -most) {
    throw InvalidInput(
        fmt::format("task {}: execution size {} is below {}: no more than its inputs or "
                    "than what it leaves can share memory",
                    task, execution_[task], -most));
  }
}

void TaskTree::list_children() {
  const std::size_t n = size();
  for (std::size_t i = 0; i < n; ++i) first_child_[i + 1] += first_child_[i];
  if (first_child_[n] == 0) return;
  children_.resize(first_child_[n]);
  std::vector<std::size_t> end(first_child_.begin(), first_child_.end() - 1);
  for (std::size_t i = 0; i < n; ++i) {
    if (parent_[i] >= 0) {
      children_[end[static_cast<std::size_t>(parent_[i])]++] = task_id(i);
    }
  }
}

// A depth-first walk from the roots that takes the last sibling first, then reversed.
// Tasks on or above a cycle are not reached.
void TaskTree::list_postorder() {
  if (children_.empty()) {
    postorder_ = roots_;
    return;
  }
  postorder_.reserve(size());
  std::vector<TaskId> stack(roots_);
  while (!stack.empty()) {
    const TaskId task = stack.back();
    stack.pop_back();
    postorder_.push_back(task);
    const std::span<const TaskId> below = children(task);
    stack.insert(stack.end(), below.begin(), below.end());
  }
  std::reverse(postorder_.begin(), postorder_.end());
}

std::optional<TaskId> TaskTree::parent(TaskId task) const {
  const std::int32_t parent = parent_[index(task)];
  if (parent < 0) return std::nullopt;
  return static_cast<TaskId>(parent);
}

std::span<const TaskId> TaskTree::children(TaskId task) const {
  const std::size_t first = first_child_[index(task)];
  return std::span(children_).subspan(first, first_child_[index(task) + 1] - first);
}

Bytes TaskTree::memory_requirement(TaskId task) const {
  const std::size_t i = index(task);
  return input_[i] + execution_[i] + output_[i] + retained_[i];
}

}  // namespace espalier
