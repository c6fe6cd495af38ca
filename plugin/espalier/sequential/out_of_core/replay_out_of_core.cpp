#include "espalier/sequential/out_of_core/replay_out_of_core.h"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/model/error.h"
#include "espalier/model/task_number.h"

namespace espalier {
namespace {

// Memory and disk, datum by datum.
class Machine {
 public:
  explicit Machine(const TaskTree& tree)
      : tree_(tree),
        ended_(tree.size(), false),
        output_(tree.size(), 0),
        retained_(tree.size(), 0) {}

  void write(const Eviction& eviction) {
    const TaskId task = eviction.task;
    if (index(task) >= tree_.size() || !ended_[index(task)]) {
      throw InvalidInput(
          fmt::format("position {}: task {}, of which bytes leave, has not "
                      "ended",
                      eviction.written_at, number(task)));
    }
    const bool output = eviction.datum == Eviction::Datum::kOutput;
    Bytes& here = output ? output_[index(task)] : retained_[index(task)];
    if (eviction.bytes <= 0 || eviction.bytes > here) {
      throw InvalidInput(
          fmt::format("position {}: {} bytes of task {} leave, {} are there",
                      eviction.written_at, eviction.bytes, number(task), here));
    }
    here -= eviction.bytes;
    result_.written = checked_add(result_.written, eviction.bytes);
    memory_ -= eviction.bytes;
  }

  void run(TaskId task) {
    if (index(task) >= tree_.size() || ended_[index(task)]) {
      throw InvalidInput(fmt::format("task {} runs twice or is none", number(task)));
    }
    for (const TaskId child : tree_.children(task)) read_back(task, child);
    const Bytes output = tree_.output_size(task), retained = tree_.retained_size(task);
    const Bytes running = memory_ + tree_.execution_size(task) + output + retained;
    result_.running.push_back(running);
    result_.peak = std::max(result_.peak, running);
    memory_ += output + retained;
    for (const TaskId child : tree_.children(task)) memory_ -= tree_.output_size(child);
    output_[index(task)] = output;
    retained_[index(task)] = retained;
    ended_[index(task)] = true;
  }

  [[nodiscard]] OutOfCoreReplay take_result() { return std::move(result_); }

 private:
  // The whole output is in memory from now on, and can leave no more.
  void read_back(TaskId task, TaskId child) {
    if (!ended_[index(child)]) {
      throw InvalidInput(
          fmt::format("task {} runs before its child {}", number(task), number(child)));
    }
    const Bytes missing = tree_.output_size(child) - output_[index(child)];
    result_.read = checked_add(result_.read, missing);
    memory_ += missing;
    output_[index(child)] = 0;
  }

  const TaskTree& tree_;
  std::vector<bool> ended_;
  std::vector<Bytes> output_, retained_;  // in memory
  Bytes memory_ = 0;
  OutOfCoreReplay result_;
};

void check_positions(const TaskTree& tree, const OutOfCorePlan& plan) {
  if (plan.order.size() != tree.size()) {
    throw InvalidInput(fmt::format("the order has {} tasks, the tree {}",
                                   plan.order.size(), tree.size()));
  }
  std::size_t last = 0;
  for (const Eviction& eviction : plan.evictions) {
    if (eviction.written_at >= plan.order.size() || eviction.written_at < last) {
      throw InvalidInput(fmt::format("an eviction at position {} after one at {}, of {}",
                                     eviction.written_at, last, plan.order.size()));
    }
    last = eviction.written_at;
  }
}

// Whether each eviction says rightly when its bytes come back.
void check_reads(const TaskTree& tree, const OutOfCorePlan& plan) {
  std::vector<std::size_t> position(tree.size());
  for (std::size_t k = 0; k < plan.order.size(); ++k) position[index(plan.order[k])] = k;
  for (const Eviction& eviction : plan.evictions) {
    std::optional<std::size_t> expected;
    const std::optional<TaskId> parent = tree.parent(eviction.task);
    if (parent && eviction.datum == Eviction::Datum::kOutput) {
      expected = position[index(*parent)];
    }
    if (eviction.read_at != expected) {
      throw InvalidInput(
          fmt::format("what leaves of task {} at position {} is said to be "
                      "read at another position than its parent's",
                      number(eviction.task), eviction.written_at));
    }
  }
}

}  // namespace

OutOfCoreReplay replay_out_of_core(const TaskTree& tree, const OutOfCorePlan& plan) {
  check_positions(tree, plan);
  Machine machine(tree);
  auto eviction = plan.evictions.begin();
  for (std::size_t k = 0; k < plan.order.size(); ++k) {
    for (; eviction != plan.evictions.end() && eviction->written_at == k; ++eviction) {
      machine.write(*eviction);
    }
    machine.run(plan.order[k]);
  }
  check_reads(tree, plan);
  return machine.take_result();
}

}  // namespace espalier
