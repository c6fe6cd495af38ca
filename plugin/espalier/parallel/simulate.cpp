#include "espalier/parallel/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/parallel/bounds.h"
#include "espalier/parallel/worker_share.h"

namespace espalier {
namespace {

class Simulator {
 public:
  Simulator(const TaskTree& tree, Admission& admission, const SimulationOptions& options);
  Simulation run();

 private:
  // A task from its admission to its end.
  struct Progress {
    std::int32_t workers = 0;  // that it has
    std::int32_t version = 0;  // of its end: an end foreseen with fewer workers is void
    bool started = false, ended = false;
    Seconds updated = 0;  // when `left` was exact
    Flops left = 0;
  };
  // The end of a task as foreseen with its workers of now, or of its delay.
  struct End {
    static constexpr std::int32_t kDelay = -1;
    Seconds time;
    TaskId task;
    std::int32_t version;
    bool operator>(const End& other) const {
      return std::tie(time, task) > std::tie(other.time, other.task);
    }
  };
  struct Want {  // an admitted task that can use more workers
    Seconds priority;
    TaskId task;
    bool operator<(const Want& other) const {  // the largest is served first
      return priority != other.priority ? priority < other.priority : task > other.task;
    }
  };

  struct Pool {
    std::priority_queue<Want> wants;
    std::int32_t idle = 0;
    Bytes resident = 0;
    bool changed = false;  // since workers were handed out
  };

  void check(const SimulationOptions& options) const;
  void admit();
  void want_workers(TaskId task);
  void hand_out_workers();
  void hand_out_workers(Pool& pool);
  void start(TaskId task);
  void give(Pool& pool, TaskId task, std::int32_t workers);
  void end_all_of_next_instant();
  void end(TaskId task);
  void advance(TaskId task);
  Pool& changed_pool(TaskId task);
  [[nodiscard]] std::size_t pool_of(TaskId task) const {
    return where_.empty() ? 0 : static_cast<std::size_t>(where_[index(task)]);
  }
  [[nodiscard]] std::int32_t most_workers(TaskId task) const;
  [[nodiscard]] double rate(TaskId task) const;

  const TaskTree& tree_;
  Admission& admission_;
  std::vector<double> useful_;
  std::vector<Seconds> priority_;
  std::vector<Progress> progress_;
  std::span<const std::int32_t> where_;  // pool of each task
  std::span<const Seconds> delay_;
  std::vector<TaskId> startable_;
  std::vector<Pool> pools_;
  std::vector<std::size_t> changed_;  // pools
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::size_t unfinished_;
  bool shares_change_ = false;
  Seconds now_ = 0;
  Bytes resident_ = 0;
  Simulation result_;
};

Simulator::Simulator(const TaskTree& tree, Admission& admission,
                     const SimulationOptions& options)
    : tree_(tree),
      admission_(admission),
      useful_(useful_workers(tree, options.max_workers)),
      priority_(options.priority.begin(), options.priority.end()),
      progress_(tree.size()),
      where_(options.pool),
      delay_(options.delay),
      unfinished_(tree.size()) {
  check_workers(options.workers);
  if (priority_.empty()) {
    priority_ = root_path_times(tree, options.workers, options.max_workers);
  }
  check(options);
  pools_.resize(static_cast<std::size_t>(options.pools));
  for (Pool& pool : pools_) pool.idle = options.workers;
  result_.pool_peak.resize(pools_.size(), 0);
  Schedule& schedule = result_.schedule;
  schedule.workers = options.workers;
  schedule.start.resize(tree.size());
  schedule.end.resize(tree.size());
  schedule.share.resize(tree.size());
}

void Simulator::check(const SimulationOptions& options) const {
  const auto of_all_tasks = [this](std::string_view what, std::size_t given) {
    if (given == tree_.size()) return;
    throw InvalidInput(
        fmt::format("{} are given for {} tasks of {}", what, given, tree_.size()));
  };
  of_all_tasks("priorities", priority_.size());
  if (!where_.empty()) of_all_tasks("pools", where_.size());
  if (!delay_.empty()) of_all_tasks("delays", delay_.size());
  if (options.pools < 1) throw InvalidInput("at least one pool is needed");
  for (const std::int32_t pool : where_) {
    if (pool >= 0 && pool < options.pools) continue;
    throw InvalidInput(fmt::format("pool {} of {}", pool, options.pools));
  }
  for (const Seconds delay : delay_) {
    if (delay >= 0 && std::isfinite(delay)) continue;
    throw InvalidInput(fmt::format("a delay of {}", delay));
  }
}

Simulation Simulator::run() {
  admission_.begin(startable_);
  admit();
  hand_out_workers();
  while (!ends_.empty()) {
    end_all_of_next_instant();
    admit();
    hand_out_workers();
  }
  if (unfinished_ > 0) {
    throw Error(fmt::format("the simulation is stuck with {} tasks left", unfinished_));
  }
  result_.makespan = now_;
  if (shares_change_) result_.schedule.share.clear();
  return std::move(result_);
}

void Simulator::admit() {
  for (const TaskId task : startable_) {
    progress_[index(task)].left = tree_.work(task);
    const Seconds delay = delay_.empty() ? 0 : delay_[index(task)];
    if (delay == 0) {
      want_workers(task);
    } else {
      start(task);
      ends_.push({now_ + delay, task, End::kDelay});
    }
  }
  startable_.clear();
}

Simulator::Pool& Simulator::changed_pool(TaskId task) {
  Pool& pool = pools_[pool_of(task)];
  if (!pool.changed) changed_.push_back(pool_of(task));
  pool.changed = true;
  return pool;
}

void Simulator::want_workers(TaskId task) {
  changed_pool(task).wants.push({priority_[index(task)], task});
}

void Simulator::hand_out_workers() {
  for (const std::size_t pool : changed_) {
    pools_[pool].changed = false;
    hand_out_workers(pools_[pool]);
  }
  changed_.clear();
}

void Simulator::hand_out_workers(Pool& pool) {
  while (pool.idle > 0 && !pool.wants.empty()) {
    const TaskId task = pool.wants.top().task;
    const Progress& progress = progress_[index(task)];
    const std::int32_t more = most_workers(task) - progress.workers;
    if (progress.ended) {
      pool.wants.pop();
      continue;
    }
    if (more <= pool.idle) pool.wants.pop();
    give(pool, task, std::min(more, pool.idle));
  }
}

void Simulator::start(TaskId task) {
  progress_[index(task)].started = true;
  result_.schedule.start[index(task)] = now_;
  result_.schedule.sequence.push_back(task);
  const Bytes own = tree_.memory_requirement(task) - tree_.input_size(task);
  Pool& pool = pools_[pool_of(task)];
  Bytes& pool_peak = result_.pool_peak[pool_of(task)];
  resident_ += own;
  pool.resident += own;
  result_.peak = std::max(result_.peak, resident_);
  pool_peak = std::max(pool_peak, pool.resident);
}

void Simulator::give(Pool& pool, TaskId task, std::int32_t workers) {
  Progress& progress = progress_[index(task)];
  if (!progress.started) start(task);
  if (progress.workers == 0) {
    progress.updated = now_;
  } else {
    advance(task);
    shares_change_ = true;
  }
  pool.idle -= workers;
  progress.workers += workers;
  ++progress.version;
  ends_.push({now_ + progress.left / rate(task), task, progress.version});
}

void Simulator::end_all_of_next_instant() {
  const Seconds instant = ends_.top().time;
  while (!ends_.empty() && ends_.top().time == instant) {
    const End next = ends_.top();
    ends_.pop();
    const Progress& progress = progress_[index(next.task)];
    if (next.version == End::kDelay) {
      now_ = instant;
      want_workers(next.task);
      continue;
    }
    if (progress.ended || progress.version != next.version) continue;
    now_ = instant;
    end(next.task);
  }
}

void Simulator::end(TaskId task) {
  Progress& progress = progress_[index(task)];
  Schedule& schedule = result_.schedule;
  schedule.end[index(task)] = now_;
  schedule.share[index(task)] = progress.workers;
  progress.ended = true;
  const Bytes freed = tree_.execution_size(task) + tree_.input_size(task);
  Pool& pool = changed_pool(task);
  pool.idle += progress.workers;
  pool.resident -= freed;
  resident_ -= freed;
  --unfinished_;
  admission_.complete(task, startable_);
}

void Simulator::advance(TaskId task) {
  Progress& progress = progress_[index(task)];
  const Seconds elapsed = now_ - progress.updated;
  progress.left = std::max(0.0, progress.left - elapsed * rate(task));
  progress.updated = now_;
}

std::int32_t Simulator::most_workers(TaskId task) const {
  const double most = std::ceil(useful_[index(task)]);
  return static_cast<std::int32_t>(std::min<double>(most, result_.schedule.workers));
}

double Simulator::rate(TaskId task) const {
  return std::min<double>(useful_[index(task)], progress_[index(task)].workers);
}

}  // namespace

Simulation simulate(const TaskTree& tree, Admission& admission,
                    const SimulationOptions& options) {
  return Simulator(tree, admission, options).run();
}

}  // namespace espalier
