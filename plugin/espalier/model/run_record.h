#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "espalier/model/task_tree.h"
#include "espalier/model/units.h"

namespace espalier {

/// What every task of a run did, and what it had to wait for: enough to run the same
/// tasks again on other numbers of workers, without the work.
///
/// A *node* is what the policy admits, a task of the tree that the plan was made for. A
/// task of the runtime belongs to a node; a node ends when its last task has ended. Tasks
/// stand in an order in which they can run: each after those that it waits for.
struct RunRecord {
  struct Task {
    std::int32_t node = 0;
    std::int32_t kind = 0;  ///< index into `kinds`
    std::int32_t front = -1;
    std::int32_t column = -1, row = -1, source = -1;  ///< of a tile; -1: does not apply
    std::int32_t worker = 0;
    int priority = 0;       ///< among the tasks of its node
    Seconds start = 0;      ///< from the start of the run
    Seconds seconds = 0;    ///< by the clock
    Seconds processor = 0;  ///< of processor time
    Bytes taken = 0;        ///< most that it had more than when it began, >= 0
    Bytes kept = 0;         ///< that it had more when it ended; negative: it gave back
  };

  std::string input;  ///< what was factored
  std::string operation;
  std::string order, mapping;  ///< by the names of --order and --mapping
  std::int32_t workers = 1;
  Seconds seconds = 0;         ///< of the run
  Seconds overhead = 0;        ///< of a task beside its own time: median gap on a worker
  std::optional<Bytes> bound;  ///< on the nodes of the tree

  std::vector<espalier::Task> nodes;  ///< of the tree, by id
  std::vector<double> max_workers;    ///< of each node

  std::vector<std::string> kinds;
  std::vector<Task> tasks;
  std::vector<std::int64_t> after_start;  ///< tasks.size() + 1
  std::vector<std::int32_t> after;        ///< tasks that each waits for, before it

  [[nodiscard]] std::span<const std::int32_t> waits_for(std::size_t task) const {
    return std::span(after).subspan(
        static_cast<std::size_t>(after_start[task]),
        static_cast<std::size_t>(after_start[task + 1] - after_start[task]));
  }
};

}  // namespace espalier
