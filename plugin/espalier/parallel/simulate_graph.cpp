#include "espalier/parallel/simulate_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/parallel/graph_bounds.h"
#include "espalier/parallel/worker_share.h"

namespace espalier {
namespace {

constexpr int kTried = 16;

class GraphSimulator {
 public:
  GraphSimulator(const TaskGraph& graph, GraphAdmission& admission, std::int32_t workers,
                 std::span<const Seconds> priority);
  Simulation run();

 private:
  void start_what_may();
  void start(TaskId task);
  void end_all_of_next_instant();

  using Rank = std::pair<Seconds, TaskId>;  // -priority
  using End = std::pair<Seconds, TaskId>;

  const TaskGraph& graph_;
  GraphAdmission& admission_;
  GraphMemory memory_;
  std::vector<Seconds> priority_;
  std::vector<TaskId> candidates_;  // new ones
  std::vector<TaskId> readers_;     // scratch
  std::set<Rank> ranked_;
  std::priority_queue<End, std::vector<End>, std::greater<>> running_;
  std::int32_t idle_;
  std::size_t unfinished_;
  Seconds now_ = 0;
  Bytes resident_;
  Simulation result_;
};

GraphSimulator::GraphSimulator(const TaskGraph& graph, GraphAdmission& admission,
                               std::int32_t workers, std::span<const Seconds> priority)
    : graph_(graph),
      admission_(admission),
      memory_(graph),
      priority_(priority.begin(), priority.end()),
      idle_(workers),
      unfinished_(graph.size()),
      resident_(graph.initial_bytes()) {
  check_workers(workers);
  if (priority_.empty()) priority_ = path_weights(graph);
  if (priority_.size() != graph.size()) {
    throw InvalidInput(fmt::format("priorities are given for {} operators of {}",
                                   priority_.size(), graph.size()));
  }
  Schedule& schedule = result_.schedule;
  schedule.workers = workers;
  schedule.start.resize(graph.size());
  schedule.end.resize(graph.size());
  schedule.share.assign(graph.size(), 1);
  schedule.sequence.reserve(graph.size());
  result_.peak = resident_;
}

Simulation GraphSimulator::run() {
  admission_.begin(candidates_);
  start_what_may();
  while (!running_.empty()) {
    end_all_of_next_instant();
    start_what_may();
  }
  if (unfinished_ > 0) {
    throw Error(
        fmt::format("the simulation is stuck with {} operators left", unfinished_));
  }
  result_.makespan = now_;
  return std::move(result_);
}

void GraphSimulator::start_what_may() {
  for (const TaskId task : candidates_) ranked_.emplace(-priority_[index(task)], task);
  candidates_.clear();
  int refused = 0;
  for (auto it = ranked_.begin(); it != ranked_.end() && idle_ > 0;) {
    const TaskId task = it->second;
    if (admission_.try_start(task)) {
      it = ranked_.erase(it);
      refused = 0;
      start(task);
    } else {
      ++it;
      if (++refused >= kTried && !running_.empty()) return;
    }
  }
}

void GraphSimulator::start(TaskId task) {
  --idle_;
  result_.schedule.start[index(task)] = now_;
  result_.schedule.sequence.push_back(task);
  resident_ += memory_.allocates(task);
  result_.peak = std::max(result_.peak, resident_);
  running_.emplace(now_ + graph_.work(task), task);
}

void GraphSimulator::end_all_of_next_instant() {
  now_ = running_.top().first;
  while (!running_.empty() && running_.top().first == now_) {
    const TaskId task = running_.top().second;
    running_.pop();
    result_.schedule.end[index(task)] = now_;
    ++idle_;
    --unfinished_;
    resident_ -= memory_.end(task, readers_);
    readers_.clear();
    admission_.end(task, candidates_);
  }
}

}  // namespace

Simulation simulate(const TaskGraph& graph, GraphAdmission& admission,
                    std::int32_t workers, std::span<const Seconds> priority) {
  return GraphSimulator(graph, admission, workers, priority).run();
}

}  // namespace espalier
