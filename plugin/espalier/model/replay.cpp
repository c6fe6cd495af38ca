#include "espalier/model/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>

#include "espalier/model/error.h"

namespace espalier {
namespace {

std::int32_t number(TaskId task) { return static_cast<std::int32_t>(task); }

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

// What happens at one time, in the order in which it counts.
enum class Phase : std::uint8_t { kEnd, kNoDuration, kStart };

struct Event {
  Seconds time;
  Phase phase;
  std::int32_t rank;  // position in the sequence
  TaskId task;
  friend bool operator<(const Event& a, const Event& b) {
    return std::tie(a.time, a.phase, a.rank) < std::tie(b.time, b.phase, b.rank);
  }
};

std::vector<Event> events_in_order(const Schedule& schedule,
                                   std::span<const TaskId> sequence) {
  std::vector<Event> events;
  events.reserve(2 * sequence.size());
  for (std::size_t rank = 0; rank < sequence.size(); ++rank) {
    const TaskId task = sequence[rank];
    const Seconds start = schedule.start[index(task)], end = schedule.end[index(task)];
    const auto position = static_cast<std::int32_t>(rank);
    if (start == end) {
      events.push_back({start, Phase::kNoDuration, position, task});
    } else {
      events.push_back({start, Phase::kStart, position, task});
      events.push_back({end, Phase::kEnd, position, task});
    }
  }
  std::sort(events.begin(), events.end());
  return events;
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
  const std::span<const TaskId> sequence =
      schedule.sequence.empty() ? tree.postorder() : std::span(schedule.sequence);
  check_order(tree, sequence);
  Run run(tree);
  for (const Event& event : events_in_order(schedule, sequence)) {
    if (event.phase != Phase::kEnd) run.start(event.task, event.time);
    if (event.phase != Phase::kStart) run.end(event.task, event.time);
  }
  return run.take_result();
}

}  // namespace espalier
