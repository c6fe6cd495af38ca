#include "solver/ordering/replay_tasks.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

namespace espalier::solver {
namespace {

constexpr std::int64_t kNoTask = -1;

class PoolReplay {
 public:
  PoolReplay(std::span<const RecordedTask> tasks, std::int32_t workers)
      : tasks_(tasks), added_(tasks.size()), loops_(tasks.size()), workers_(workers) {
    for (std::int32_t w = workers; w-- > 0;) idle_.push_back(w);
    for (std::int64_t task = 0; task < std::ssize(tasks); ++task) {
      if (const auto parent = tasks[task].parent) {
        added_[*parent].push_back(task);
      } else {
        ready_.push({tasks[task].size, -task});
      }
    }
  }

  Seconds run() {
    for (give_work(); !events_.empty(); give_work()) {
      const auto [time, number, worker] = events_.top();
      events_.pop();
      now_ = time;
      go_on(worker);
    }
    return now_;
  }

 private:
  // What a worker is at: a task, or (`hand`) only a loop of one.
  struct Worker {
    std::int64_t task = kNoTask;
    bool hand = false, in_loop = false;
  };
  // The loop that a task is at.
  struct Loop {
    std::size_t number = 0;
    std::int64_t next = 0, done = 0;  // blocks
    std::int32_t owner = 0;
  };
  using Event = std::tuple<Seconds, std::int64_t, std::int32_t>;  // end, number, worker

  [[nodiscard]] std::span<const Seconds> blocks(std::int64_t task) const {
    return tasks_[task].loops[loops_[task].number];
  }

  void spend(std::int32_t worker, Seconds seconds) {
    events_.push({now_ + seconds, events_so_far_++, worker});
  }

  // Idle workers take a hand in a loop before a task.
  void give_work() {
    while (!idle_.empty() && !(hands_.empty() && ready_.empty())) {
      const std::int32_t worker = idle_.back();
      idle_.pop_back();
      if (hands_.empty()) {
        begin_task(worker);
      } else {
        workers_[worker] = {.task = hands_.front(), .hand = true, .in_loop = true};
        hands_.pop();
        take_block(worker);
      }
    }
  }

  void begin_task(std::int32_t worker) {
    const std::int64_t task = -ready_.top().second;
    ready_.pop();
    workers_[worker] = {.task = task};
    loops_[task] = {.owner = worker};
    spend_alone(worker);
  }

  void spend_alone(std::int32_t worker) {
    const RecordedTask& task = tasks_[workers_[worker].task];
    spend(worker, std::max(0.0, task.alone) / static_cast<double>(task.loops.size() + 1));
  }

  void go_on(std::int32_t worker) {
    Worker& at = workers_[worker];
    if (at.in_loop) {
      ++loops_[at.task].done;
      take_block(worker);
    } else if (loops_[at.task].number < tasks_[at.task].loops.size()) {
      begin_loop(worker);
    } else {
      for (const std::int64_t task : added_[at.task])
        ready_.push({tasks_[task].size, -task});
      leave(worker);
    }
  }

  void begin_loop(std::int32_t worker) {
    Worker& at = workers_[worker];
    at.in_loop = true;
    const std::int64_t count = std::ssize(blocks(at.task));
    for (auto k = std::min<std::int64_t>(std::ssize(workers_), count); k > 1; --k)
      hands_.push(at.task);
    take_block(worker);
  }

  // The next block; where none is left, the last one to end lets the owner go on.
  void take_block(std::int32_t worker) {
    const Worker at = workers_[worker];
    Loop& loop = loops_[at.task];
    if (loop.next < std::ssize(blocks(at.task)))
      return spend(worker, blocks(at.task)[loop.next++]);
    if (loop.done == std::ssize(blocks(at.task))) {
      workers_[loop.owner].in_loop = false;
      ++loop.number;
      loop.next = loop.done = 0;
      std::queue<std::int64_t> others;  // hands that came too late for it
      for (; !hands_.empty(); hands_.pop())
        if (hands_.front() != at.task) others.push(hands_.front());
      hands_.swap(others);
      spend_alone(loop.owner);
    }
    if (at.hand) leave(worker);
  }

  void leave(std::int32_t worker) {
    workers_[worker] = {};
    idle_.push_back(worker);
  }

  std::span<const RecordedTask> tasks_;
  std::vector<std::vector<std::int64_t>> added_;  // by each task
  std::vector<Loop> loops_;                       // by task
  std::vector<Worker> workers_;
  std::vector<std::int32_t> idle_;
  std::priority_queue<std::pair<std::int64_t, std::int64_t>> ready_;  // size, -task
  std::queue<std::int64_t> hands_;                                    // tasks
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::int64_t events_so_far_ = 0;
  Seconds now_ = 0;
};

}  // namespace

Seconds replay_tasks(std::span<const RecordedTask> tasks, std::int32_t workers) {
  return PoolReplay(tasks, workers).run();
}

}  // namespace espalier::solver
