#include "espalier/model/replay.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "espalier/model/error.h"
#include "espalier/model/schedule_events.h"
#include "espalier/model/task_number.h"

namespace espalier {
namespace {

// Memory while tasks start and end; refuses what the tree forbids.
class Run {
 public:
  explicit Run(const TaskTree& tree)
      : tree_(tree), started_(tree.size(), false), pending_(tree.size()) {
    for (std::size_t i = 0; i < tree.size(); ++i) {
      pending_[i] = static_cast<std::int32_t>(tree.children(task_id(i)).size());
    }
    result_.profile.reserve(2 * tree.size());
  }

  void start(TaskId task, Seconds time) {
    if (started_[index(task)]) {
      throw InvalidInput(fmt::format("task {} starts twice", number(task)));
    }
    if (pending_[index(task)] != 0) {
      throw InvalidInput(
          fmt::format("task {} starts before one of its children has ended: {} are left",
                      number(task), pending_[index(task)]));
    }
    started_[index(task)] = true;
    bytes_ +=
        tree_.execution_size(task) + tree_.output_size(task) + tree_.retained_size(task);
    if (bytes_ > result_.peak || !result_.peak_task) {
      result_.peak = bytes_;
      result_.peak_task = task;
      result_.peak_time = time;
    }
    result_.profile.push_back({time, bytes_});
  }

  void end(TaskId task, Seconds time) {
    bytes_ -= tree_.execution_size(task) + tree_.input_size(task);
    if (const std::optional<TaskId> parent = tree_.parent(task)) {
      --pending_[index(*parent)];
    }
    result_.makespan = std::max(result_.makespan, time);
    result_.profile.push_back({time, bytes_});
  }

  [[nodiscard]] Replay take_result() { return std::move(result_); }

 private:
  const TaskTree& tree_;
  std::vector<bool> started_;
  std::vector<std::int32_t> pending_;  // children that have not ended
  Bytes bytes_ = 0;
  Replay result_;
};

void check_order(const TaskTree& tree, std::span<const TaskId> order) {
  if (order.size() != tree.size()) {
    throw InvalidInput(
        fmt::format("the order has {} tasks, the tree {}", order.size(), tree.size()));
  }
  for (const TaskId task : order) {
    if (index(task) >= tree.size()) {
      throw InvalidInput(fmt::format("task {} of the order is not one of the {} tasks",
                                     number(task), tree.size()));
    }
  }
}

void check_times(const TaskTree& tree, const Schedule& schedule) {
  if (schedule.start.size() != tree.size() || schedule.end.size() != tree.size()) {
    throw InvalidInput(fmt::format("{} starts and {} ends for {} tasks",
                                   schedule.start.size(), schedule.end.size(),
                                   tree.size()));
  }
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const Seconds start = schedule.start[i], end = schedule.end[i];
    if (!std::isfinite(start) || !std::isfinite(end) || end < start) {
      throw InvalidInput(fmt::format("task {} runs from {} to {}", i, start, end));
    }
  }
}

}  // namespace

Replay replay(const TaskTree& tree, std::span<const TaskId> order) {
  check_order(tree, order);
  Run run(tree);
  for (std::size_t k = 0; k < order.size(); ++k) {
    run.start(order[k], static_cast<Seconds>(k));
    run.end(order[k], static_cast<Seconds>(k + 1));
  }
  return run.take_result();
}

Replay replay(const TaskTree& tree, const Schedule& schedule) {
  check_times(tree, schedule);
  const std::span<const TaskId> sequence = sequence_of(tree, schedule);
  check_order(tree, sequence);
  Run run(tree);
  for (const ScheduleEvent& event : events_in_order(schedule, sequence)) {
    if (event.phase != SchedulePhase::kEnd) run.start(event.task, event.time);
    if (event.phase != SchedulePhase::kStart) run.end(event.task, event.time);
  }
  return run.take_result();
}

}  // namespace espalier
