#include "espalier/report/run_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <queue>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/model/replay.h"
#include "espalier/model/schedule_events.h"
#include "espalier/parallel/bounds.h"
#include "espalier/parallel/worker_share.h"

namespace espalier::report {
namespace {

// Workers that have nothing to do, a bit each.
class IdleWorkers {
 public:
  explicit IdleWorkers(std::int32_t workers)
      : bits_((static_cast<std::size_t>(workers) + 63) / 64, 0), all_{0, workers} {
    for (std::int32_t worker = 0; worker < workers; ++worker) give_back(worker);
  }
  [[nodiscard]] std::int32_t count() const { return count_; }
  [[nodiscard]] bool contains(std::int32_t worker) const {
    return (bits_[static_cast<std::size_t>(worker) / 64] >> (worker % 64) & 1) != 0;
  }

  void give_back(std::int32_t worker) {
    bits_[static_cast<std::size_t>(worker) / 64] |= std::uint64_t{1} << (worker % 64);
    ++count_;
  }
  // At least one must be idle.
  std::int32_t take(const WorkerRange& preferred) {
    std::int32_t worker = first_in(preferred);
    if (worker < 0) worker = first_in(all_);
    bits_[static_cast<std::size_t>(worker) / 64] &= ~(std::uint64_t{1} << (worker % 64));
    --count_;
    return worker;
  }

 private:
  [[nodiscard]] std::int32_t first_in(const WorkerRange& range) const {
    const std::int32_t end = std::min(range.first + range.count, all_.count);
    for (std::int32_t at = range.first; at < end; at = (at / 64 + 1) * 64) {
      const std::uint64_t word = bits_[static_cast<std::size_t>(at) / 64] >> (at % 64);
      if (word == 0) continue;
      const std::int32_t worker = at + std::countr_zero(word);
      return worker < end ? worker : -1;
    }
    return -1;
  }

  std::vector<std::uint64_t> bits_;
  WorkerRange all_;
  std::int32_t count_ = 0;
};

class Sweep {
 public:
  Sweep(const TaskTree& tree, const Schedule& schedule, const SweepOptions& options,
        RunObserver& observer);
  void run();

 private:
  struct Want {
    Seconds priority;
    TaskId task;
    bool operator<(const Want& other) const {  // the largest is served first
      return priority != other.priority ? priority < other.priority : task > other.task;
    }
  };

  void happen(const ScheduleEvent& event);
  void start(TaskId task);
  void end(TaskId task);
  void free_workers(TaskId task);
  void hand_out();
  void take_back_one();
  void give(TaskId task, std::int32_t workers);
  [[nodiscard]] std::int32_t most_workers(TaskId task) const;

  const TaskTree& tree_;
  const Schedule& schedule_;
  const SweepOptions& options_;
  RunObserver& observer_;
  std::vector<double> useful_;
  std::vector<Seconds> priority_;
  std::vector<ScheduleEvent> events_;
  std::vector<std::int32_t> children_left_;
  std::vector<std::int32_t> workers_;       // that a task has; -1: it has ended
  std::vector<std::int32_t> first_worker_;  // of a task; -1: none
  std::vector<std::int32_t> next_worker_;   // by worker: another of the same task
  std::vector<Seconds> since_;              // by worker
  std::vector<TaskId> task_of_;             // by worker that is not idle
  IdleWorkers idle_;
  std::priority_queue<Want> wants_;
  std::vector<Want> put_off_;
  std::int32_t without_worker_ = 0;  // tasks that start now
  std::int64_t wanted_ = 0;          // by tasks that are ready and have not started
  Seconds now_ = 0;
};

Sweep::Sweep(const TaskTree& tree, const Schedule& schedule, const SweepOptions& options,
             RunObserver& observer)
    : tree_(tree),
      schedule_(schedule),
      options_(options),
      observer_(observer),
      useful_(useful_workers(
          tree, schedule.share.empty() ? options.max_workers : schedule.share)),
      priority_(options.priority.begin(), options.priority.end()),
      events_(events_in_order(schedule, sequence_of(tree, schedule))),
      children_left_(tree.size()),
      workers_(tree.size(), 0),
      first_worker_(tree.size(), -1),
      next_worker_(static_cast<std::size_t>(schedule.workers), -1),
      since_(static_cast<std::size_t>(schedule.workers), 0),
      task_of_(static_cast<std::size_t>(schedule.workers)),
      idle_(schedule.workers) {
  if (priority_.empty()) {
    priority_ = root_path_times(tree, schedule.workers, options.max_workers);
  }
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const auto children = tree.children(task_id(i)).size();
    children_left_[i] = static_cast<std::int32_t>(children);
    if (children == 0) wanted_ += most_workers(task_id(i));
  }
}

void Sweep::run() {
  std::size_t next = 0;
  while (next < events_.size()) {
    const Seconds time = events_[next].time;
    if (time > now_) {
      observer_.passed(now_, time, schedule_.workers - idle_.count(), wanted_);
    }
    now_ = time;
    for (; next < events_.size() && events_[next].time == time; ++next) {
      happen(events_[next]);
    }
    hand_out();
  }
}

void Sweep::happen(const ScheduleEvent& event) {
  switch (event.phase) {
    case SchedulePhase::kEnd:
      free_workers(event.task);
      end(event.task);
      break;
    case SchedulePhase::kNoDuration:
      start(event.task);
      end(event.task);
      break;
    case SchedulePhase::kStart:
      start(event.task);
      wants_.push({priority_[index(event.task)], event.task});
      ++without_worker_;
      break;
  }
}

void Sweep::start(TaskId task) {
  wanted_ -= most_workers(task);
  observer_.started(task, now_);
}

void Sweep::end(TaskId task) {
  workers_[index(task)] = -1;
  observer_.ended(task, now_);
  const std::optional<TaskId> parent = tree_.parent(task);
  if (parent && --children_left_[index(*parent)] == 0) wanted_ += most_workers(*parent);
}

void Sweep::free_workers(TaskId task) {
  for (std::int32_t worker = first_worker_[index(task)]; worker >= 0;) {
    const auto w = static_cast<std::size_t>(worker);
    observer_.worked(task, worker, since_[w], now_);
    idle_.give_back(worker);
    worker = next_worker_[w];
  }
}

// Each task that starts is sure of one worker: those are kept back from the others.
void Sweep::hand_out() {
  while (without_worker_ > idle_.count()) take_back_one();
  while (idle_.count() > 0 && !wants_.empty()) {
    const Want want = wants_.top();
    wants_.pop();
    const std::int32_t has = workers_[index(want.task)];
    if (has < 0) continue;
    if (has == 0) --without_worker_;
    const std::int32_t more = most_workers(want.task) - has;
    const std::int32_t given = std::min(more, idle_.count() - without_worker_);
    give(want.task, given);
    if (given < more) put_off_.push_back(want);
  }
  for (const Want& want : put_off_) wants_.push(want);
  put_off_.clear();
}

void Sweep::take_back_one() {
  std::optional<TaskId> most;
  for (std::int32_t worker = 0; worker < schedule_.workers; ++worker) {
    const TaskId task = task_of_[static_cast<std::size_t>(worker)];
    if (idle_.contains(worker) || workers_[index(task)] < 2) continue;
    if (!most || workers_[index(task)] > workers_[index(*most)]) most = task;
  }
  if (!most) {
    throw InvalidInput(fmt::format("at time {} tasks start and no worker of {} is idle",
                                   now_, schedule_.workers));
  }
  const std::int32_t worker = first_worker_[index(*most)];
  const auto w = static_cast<std::size_t>(worker);
  first_worker_[index(*most)] = next_worker_[w];
  if (workers_[index(*most)]-- == most_workers(*most)) {
    wants_.push({priority_[index(*most)], *most});
  }
  if (since_[w] < now_) observer_.worked(*most, worker, since_[w], now_);
  idle_.give_back(worker);
}

void Sweep::give(TaskId task, std::int32_t workers) {
  const WorkerRange preferred =
      options_.mapping.empty() ? WorkerRange{} : options_.mapping[index(task)];
  for (std::int32_t k = 0; k < workers; ++k) {
    const std::int32_t worker = idle_.take(preferred);
    next_worker_[static_cast<std::size_t>(worker)] = first_worker_[index(task)];
    since_[static_cast<std::size_t>(worker)] = now_;
    task_of_[static_cast<std::size_t>(worker)] = task;
    first_worker_[index(task)] = worker;
  }
  workers_[index(task)] += workers;
}

std::int32_t Sweep::most_workers(TaskId task) const {
  const double most = std::ceil(useful_[index(task)]);
  return static_cast<std::int32_t>(std::min<double>(most, schedule_.workers));
}

}  // namespace

void sweep(const TaskTree& tree, const Schedule& schedule, const SweepOptions& options,
           RunObserver& observer) {
  check_workers(schedule.workers);
  (void)replay(tree, schedule);  // refuses what is no run of the tree
  Sweep(tree, schedule, options, observer).run();
}

}  // namespace espalier::report
