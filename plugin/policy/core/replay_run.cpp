#include "policy/core/replay_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <queue>
#include <vector>

#include "espalier/model/error.h"
#include "policy/core/job.h"

namespace espalier::policy {
namespace {

std::vector<int> numbers(std::int32_t count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

class Replay {
 public:
  Replay(const RunRecord& run, const std::shared_ptr<const Plan>& plan,
         const ReplayOptions& options)
      : run_(run),
        options_(options),
        workers_(plan->workers),
        placement_(static_cast<std::size_t>(workers_)),
        job_(plan, numbers(workers_), static_cast<std::size_t>(workers_), placement_),
        left_(run.tasks.size()),
        tokens_(run.tasks.size()),
        tasks_left_(run.nodes.size(), 0),
        successor_start_(run.tasks.size() + 1, 0),
        idle_(static_cast<std::size_t>(workers_), true) {
    for (std::size_t i = 0; i < run.tasks.size(); ++i) {
      ++tasks_left_[static_cast<std::size_t>(run.tasks[i].node)];
      left_[i] = static_cast<std::int32_t>(run.waits_for(i).size());
      for (const std::int32_t before : run.waits_for(i))
        ++successor_start_[static_cast<std::size_t>(before) + 1];
    }
    std::partial_sum(successor_start_.begin(), successor_start_.end(),
                     successor_start_.begin());
    successors_.resize(run.after.size());
    std::vector<std::int64_t> next(successor_start_.begin(), successor_start_.end() - 1);
    for (std::size_t i = 0; i < run.tasks.size(); ++i)
      for (const std::int32_t before : run.waits_for(i))
        successors_[static_cast<std::size_t>(next[static_cast<std::size_t>(before)]++)] =
            static_cast<std::int32_t>(i);
  }

  [[nodiscard]] ReplayedRun run() {
    for (std::size_t node = 0; node < tasks_left_.size(); ++node)
      if (tasks_left_[node] == 0) close(task_id(node));
    for (std::size_t i = 0; i < left_.size(); ++i)
      if (left_[i] == 0) submit(i);
    begin_tasks();
    while (!running_.empty()) {
      now_ = running_.top().end;
      // All that ends at this moment has ended before anything begins.
      while (!running_.empty() && running_.top().end == now_) {
        const Running ended = running_.top();
        running_.pop();
        end(ended);
      }
      begin_tasks();
    }
    if (ended_ != run_.tasks.size())
      throw InvalidInput(fmt::format("only {} of {} tasks of the record can run", ended_,
                                     run_.tasks.size()));
    const TreeGateReport gate = job_.gate().report();
    result_.workers = workers_;
    result_.makespan = now_;
    result_.peak = gate.allocated_peak;
    result_.booked_peak = gate.booked_peak;
    result_.held_tasks = gate.held_tasks;
    return result_;
  }

 private:
  struct Running {
    Seconds end;
    std::int64_t sequence;
    std::size_t task, worker;
    bool operator<(const Running& other) const {
      return end != other.end ? end > other.end : sequence > other.sequence;
    }
  };

  [[nodiscard]] TaskId node_of(std::size_t task) const {
    return task_id(static_cast<std::size_t>(run_.tasks[task].node));
  }
  [[nodiscard]] std::size_t number_of(void* token) const {
    return static_cast<std::size_t>(static_cast<const std::int8_t*>(token) -
                                    tokens_.data());
  }

  void submit(std::size_t task) {
    const TaskId node = node_of(task);
    if (!job_.gate().bind(node)) throw Error("a task came after the end of its node");
    void* const token = &tokens_[task];
    if (job_.gate().started(node) || job_.gate().admit(node, token, now_))
      place(node, token);
  }

  void place(TaskId node, void* token) {
    const Job::Destination& to = job_.destination(node);
    placement_.push(*to.queue, make_rank(to.path, run_.tasks[number_of(token)].priority),
                    token);
  }

  void place_all() {
    for (const Released& released : released_) place(released.node, released.task);
    released_.clear();
  }

  void close(TaskId node) {
    (void)job_.gate().close(node, now_, released_);
    place_all();
  }

  void begin_tasks() {
    for (std::size_t worker = 0; worker < idle_.size(); ++worker) {
      if (!idle_[worker]) continue;
      const Placement::Popped popped = placement_.pop(worker);
      if (popped.task == nullptr) continue;
      result_.stolen_tasks += popped.stolen ? 1 : 0;
      begin(number_of(popped.task), worker);
    }
  }

  void begin(std::size_t task, std::size_t worker) {
    idle_[worker] = false;
    const RunRecord::Task& record = run_.tasks[task];
    const Seconds time =
        (options_.processor_time ? record.processor : record.seconds) + run_.overhead;
    result_.busy += time;
    if (record.taken != 0) job_.gate().allocate(record.node, record.taken);
    running_.push({now_ + time, sequence_++, task, worker});
  }

  void end(const Running& running) {
    ++ended_;
    idle_[running.worker] = true;
    const RunRecord::Task& record = run_.tasks[running.task];
    if (record.kept != record.taken)
      job_.gate().allocate(record.node, record.kept - record.taken);
    const TaskId node = node_of(running.task);
    // As at run time: what follows is submitted while the task that lets it still counts,
    // so that its node stays open.
    for (std::int64_t k = successor_start_[running.task];
         k < successor_start_[running.task + 1]; ++k)
      if (const auto next =
              static_cast<std::size_t>(successors_[static_cast<std::size_t>(k)]);
          --left_[next] == 0)
        submit(next);
    if (--tasks_left_[index(node)] == 0) close(node);
    job_.gate().finish(node, now_, released_);
    place_all();
  }

  const RunRecord& run_;
  const ReplayOptions options_;
  const std::int32_t workers_;
  Placement placement_;
  Job job_;
  std::vector<std::int32_t> left_;        // of what each task waits for
  std::vector<std::int8_t> tokens_;       // addresses that stand for tasks
  std::vector<std::int32_t> tasks_left_;  // of each node
  std::vector<std::int64_t> successor_start_;
  std::vector<std::int32_t> successors_;
  std::vector<bool> idle_;  // by worker
  std::priority_queue<Running> running_;
  std::vector<Released> released_;
  Seconds now_ = 0;
  std::int64_t sequence_ = 0;
  std::size_t ended_ = 0;
  ReplayedRun result_;
};

}  // namespace

ReplayedRun replay_run(const RunRecord& run, const std::shared_ptr<const Plan>& plan,
                       const ReplayOptions& options) {
  return Replay(run, plan, options).run();
}

}  // namespace espalier::policy
