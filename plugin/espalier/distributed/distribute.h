#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/model/schedule.h"
#include "espalier/model/task_tree.h"

// Task trees on several processes, each with memory of its own. The model and its proof:
// docs/manual/planning.md, "Several processes".

namespace espalier {

/// What a message costs: latency + bytes / bandwidth. Time for w flops on one worker:
/// w / flop_rate.
struct Network {
  Seconds latency = 2e-6;
  double bandwidth = 1e10;  ///< bytes a second into one process
  double flop_rate = 1e10;  ///< flops a second of one worker
};

enum class DistributedMapping {
  kProportional,  ///< [PS93]: subtrees share the processes by their work, memory or not
  kMemoryAware    ///< the same where memory allows, siblings in turn where it does not
};

/// A cut task is not made of pieces smaller than this: a block of 128 x 128 doubles.
inline constexpr Bytes kLeastPiece = Bytes{128} << 10;

/// How many, how large, what to map by. Workers, their use and the network decide
/// between mappings that fit.
struct DistributionOptions {
  std::int32_t processes = 1;
  std::int32_t workers = 1;  ///< of each process
  /// of each process
  Bytes memory_bound = std::numeric_limits<Bytes>::max();
  /// equal pieces that a task can be cut into, at least 1; empty: (f + r) / kLeastPiece
  std::span<const std::int32_t> most_parts = {};
  /// workers that a task can use over all its processes, beside one for each piece
  std::span<const double> max_workers = {};
  Network network = {};
  DistributedMapping kind = DistributedMapping::kMemoryAware;
  /// parts of tasks that are dealt in all that is tried, about a microsecond each: a
  /// search that has dealt so many ends with the best that it has found
  std::size_t most_dealt = 2'000'000;
};

/// `pieces` of a task belong to `process`.
struct Owner {
  std::int32_t process = 0, pieces = 0;
  friend bool operator==(const Owner&, const Owner&) = default;
};

/// Who has what of each task, and one order that shows that all of it fits.
struct Distribution {
  std::int32_t processes = 1;
  /// Consecutive processes of each task, no more than its owners and the groups of its
  /// children, which it contains. One: the task is local, and so is all below it.
  Mapping group;
  /// All tasks, children first. On each process the parts of its tasks, one after the
  /// other in this order, need `peak`. Memory booking on each process in this order keeps
  /// any bound that is not below the peaks, and never deadlocks.
  std::vector<TaskId> witness;
  std::vector<std::size_t> first_owner;  ///< n + 1 offsets into `owner`
  std::vector<Owner> owner;              ///< by task, then by process; pieces > 0
  std::vector<Bytes> peak;               ///< of each process, exact
  Bytes bound = 0;                       ///< of each process, as asked for
  Bytes sequential_least = 0;            ///< of one process: Liu's peak
  /// No distribution on so many processes has a smaller largest peak: Liu's peak / P, as
  /// the parts of a task hold no less than the task, or the largest piece.
  Bytes lower_bound = 0;

  /// Who has pieces of a task. A process of its group that has none may still hold
  /// output of its children.
  [[nodiscard]] std::span<const Owner> owners(TaskId task) const {
    const std::size_t from = first_owner[index(task)];
    return std::span(owner).subspan(from, first_owner[index(task) + 1] - from);
  }
  [[nodiscard]] bool shared(TaskId task) const { return group[index(task)].count > 1; }
  /// Largest peak of a process.
  [[nodiscard]] Bytes largest_peak() const;
};

/// Maps a task tree onto P processes, so that the peak of each under one sequential order
/// of all tasks is at most the bound.
///
/// kProportional deals the pieces of every task out evenly to the processes that
/// proportional() gives it. kMemoryAware gives siblings disjoint groups in proportion to
/// their work, no fewer processes than their memory needs, and lets them follow each
/// other on the whole group where there are not enough (process_groups.h). Pieces are
/// dealt out evenly or so that memory is level (deal_pieces.h). This is tried for budgets
/// from no limit at all, which is the proportional mapping, down to none, where all
/// processes share every task; of what fits, the shortest simulated run is taken. A
/// smaller budget has to be shorter by 2 %.
///
/// With one process it is Liu's order.
///
/// @return the distribution, or Infeasible with the least bound per process that is known
///         to suffice: that of distribute_least()
/// @throws InvalidInput for processes or workers < 1, `most_parts` of another length than
///                      the tree or with a value below 1
/// @throws TaskOverflow when parts and buffers leave the 64-bit range, naming the task
/// @par Cost  O(n log n), and O((units + pieces) log n) for each of 27 budgets and 6 ways
///            to deal, units being shared tasks and largest local subtrees, until some
///            millions of parts have been dealt or run; subtrees of large trees that no
///            process would notice are not divided
/// @par Test  Distribute.KeepsTheBoundUnderAnyDurations
[[nodiscard]] Expected<Distribution> distribute(const TaskTree& tree,
                                                const DistributionOptions& options);

/// The distribution of least largest peak that the same search finds; its bound is that
/// peak. For kProportional there is one distribution only. Twice the processes never need
/// more, unless the search has ended for its length.
[[nodiscard]] Distribution distribute_least(const TaskTree& tree,
                                            const DistributionOptions& options);

}  // namespace espalier
