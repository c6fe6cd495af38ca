#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/model/schedule.h"
#include "espalier/model/task_tree.h"
#include "espalier/parallel/worker_share.h"
#include "espalier/sequential/tree/best_postorder.h"

// Which processes work on which task.

namespace espalier {

/// A task that is cut, or a subtree that one process has all of.
struct DistributionUnit {
  TaskId task = {};  ///< of a subtree the root
  WorkerRange group;
  WorkerRange outer;  ///< group of the parent, of a root all processes
  [[nodiscard]] bool local() const { return group.count == 1; }
};

/// Memory-aware proportional mapping [ABGLR16] onto processes that have each a memory of
/// its own.
///
/// Each task has an interval of the processes' line [0, P), as in proportional(), and S
/// bytes on each process. With A the peak of a subtree in best postorder, W its work and
/// L what it leaves behind, its children, in best postorder, are cut into the longest
/// stages whose needs fit in the width g of the interval,
///   need(c) = A_c / S   where A_c > S: so many processes have the memory for it
///             L_c / S   otherwise: any process can run it, and keeps what it leaves;
/// the stages follow each other in the witness, each on the whole interval and with
///   S - (sum of L in the stages before) / g
/// on each process. Within a stage the interval is divided as
///   width(c) = max(x W_c, need(c)),  x such that all of it is given away.
/// A subtree no wider than one process is local, as is a small one. The budget guides the
/// division; what each process really needs is known when the pieces have been dealt
/// (deal_pieces.h).
///
/// Without a limit to the budget nothing is staged, and the groups are those of
/// proportional(); with budget 0 every task is shared by all processes.
class ProcessGroups {
 public:
  /// A subtree that needs and works no more than this is not divided.
  struct Small {
    Bytes peak = -1;
    Flops work = -1;
  };
  /// The tree must outlive this object.
  /// @par Cost  O(n log n)
  explicit ProcessGroups(const TaskTree& tree);
  void set_small(const Small& small) { small_ = small; }

  /// Units in an order in which they can run: children first, stage by stage.
  /// @par Cost  O(units log units)
  [[nodiscard]] std::vector<DistributionUnit> units(std::int32_t processes,
                                                    double budget);

  /// Moves local subtrees inside `outer` so that processes have equal work: the largest
  /// first, each to the process that has least so far [Gra69].
  /// @par Cost  O(units log units)
  void balance(std::vector<DistributionUnit>& units, std::int32_t processes) const;

  [[nodiscard]] const SubtreePeaks& subtrees() const { return subtrees_; }
  /// Of each subtree.
  [[nodiscard]] std::span<const Flops> work() const { return work_; }

 private:
  struct Node {
    TaskId task;
    WorkerRange group, outer;
    WorkerShare share;
    double budget;  // S
  };
  struct Stage {
    std::size_t members = 0;
    double needs = 0, budget = 0;
  };
  void place(std::span<const TaskId> siblings, const Node& parent,
             std::vector<Node>& open);
  [[nodiscard]] bool small(TaskId task) const {
    return subtrees_.peak[index(task)] <= small_.peak &&
           work_[index(task)] <= small_.work;
  }
  [[nodiscard]] double need(TaskId task, double budget) const;
  Stage next_stage(std::span<const TaskId> siblings, double width, double budget) const;
  void set_weights(std::span<const TaskId> members, double width, double budget);

  const TaskTree& tree_;
  SubtreePeaks subtrees_;
  std::vector<Flops> work_;
  Small small_;
  std::vector<double> weight_;      // of tasks in the stage at hand
  std::vector<std::int32_t> zero_;  // the one group of share_out()
  std::vector<WorkerShare> share_;
  std::vector<TaskId> visit_, line_;
};

}  // namespace espalier
