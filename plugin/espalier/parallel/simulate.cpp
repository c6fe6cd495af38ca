#include "espalier/parallel/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
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
    bool ended = false;
    Seconds updated = 0;  // when `left` was exact
    Flops left = 0;
  };
  struct End {
    Seconds time;
    TaskId task;
    std::int32_t version;
    bool operator>(const End& other) const {
      return std::tie(time, task) > std::tie(other.time, other.task);
    }
  };
  struct Want {  // an admitted task that can use more workers
    Flops priority;
    TaskId task;
    bool operator<(const Want& other) const {  // the largest is served first
      return priority != other.priority ? priority < other.priority : task > other.task;
    }
  };

  void admit();
  void hand_out_workers();
  void give(TaskId task, std::int32_t workers);
  void end_all_of_next_instant();
  void end(TaskId task);
  void advance(TaskId task);
  [[nodiscard]] std::int32_t most_workers(TaskId task) const;
  [[nodiscard]] double rate(TaskId task) const;

  const TaskTree& tree_;
  Admission& admission_;
  std::vector<double> useful_;
  std::vector<Flops> priority_;
  std::vector<Progress> progress_;
  std::vector<TaskId> startable_;
  std::priority_queue<Want> wants_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::int32_t idle_;
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
      idle_(options.workers),
      unfinished_(tree.size()) {
  check_workers(options.workers);
  if (priority_.empty()) {
    priority_ = root_path_times(tree, options.workers, options.max_workers);
  }
  if (priority_.size() != tree.size()) {
    throw InvalidInput(fmt::format("priorities are given for {} tasks of {}",
                                   priority_.size(), tree.size()));
  }
  Schedule& schedule = result_.schedule;
  schedule.workers = options.workers;
  schedule.start.resize(tree.size());
  schedule.end.resize(tree.size());
  schedule.share.resize(tree.size());
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
    wants_.push({priority_[index(task)], task});
  }
  startable_.clear();
}

void Simulator::hand_out_workers() {
  while (idle_ > 0 && !wants_.empty()) {
    const TaskId task = wants_.top().task;
    const Progress& progress = progress_[index(task)];
    const std::int32_t more = most_workers(task) - progress.workers;
    if (progress.ended) {
      wants_.pop();
      continue;
    }
    if (more <= idle_) wants_.pop();
    give(task, std::min(more, idle_));
  }
}

void Simulator::give(TaskId task, std::int32_t workers) {
  Progress& progress = progress_[index(task)];
  if (progress.workers == 0) {
    result_.schedule.start[index(task)] = now_;
    result_.schedule.sequence.push_back(task);
    resident_ += tree_.memory_requirement(task) - tree_.input_size(task);
    result_.peak = std::max(result_.peak, resident_);
    progress.updated = now_;
  } else {
    advance(task);
    shares_change_ = true;
  }
  idle_ -= workers;
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
  idle_ += progress.workers;
  resident_ -= tree_.execution_size(task) + tree_.input_size(task);
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
