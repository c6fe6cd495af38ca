#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "espalier/distributed/distribute.h"
#include "espalier/distributed/least_loaded.h"
#include "espalier/distributed/task_cut.h"

namespace espalier {

/// Deals the pieces of shared tasks out to the processes of their groups, while local
/// tasks and shared ones follow each other in a witness order, and keeps account of what
/// each process holds.
///
/// One piece after the other goes to a process on which the task would then need at most
/// `level` bytes, of those to one that has fewest pieces of the task, of those to the one
/// where it would need least. Where all would be above the level, least need decides
/// alone. (While many are left, several at a time.) So level 0 levels memory, and an
/// unlimited level deals out evenly. A task of one piece stays where most of its input is
/// if that is not above the level.
///
/// A task is cut into no more than kMostPieces pieces for each process of its group.
class PieceDealer {
 public:
  static constexpr std::int32_t kMostPieces = 64;

  [[nodiscard]] static std::int32_t pieces(std::int32_t most, std::int32_t processes) {
    const auto limit = static_cast<std::int64_t>(kMostPieces) * processes;
    return static_cast<std::int32_t>(std::min<std::int64_t>(most, limit));
  }

  /// @param counts  piece_counts(): of each task. Both must outlive this object.
  PieceDealer(const TaskTree& tree, std::span<const std::int32_t> counts,
              std::int32_t processes, Bytes level);

  /// The children must have run on the same process. O(log P)
  void run_local(TaskId task, std::int32_t process);
  /// The children must have run. O((pieces + group) log group)
  void run_shared(TaskId task, const WorkerRange& group);

  /// Of each process, so far.
  [[nodiscard]] std::span<const Bytes> peaks() const { return peak_; }
  /// Of a task that has run: of a local one, its process with all pieces.
  [[nodiscard]] std::span<const Owner> owners(TaskId task) const;

 private:
  struct Offer {  // one more piece for a process
    double need;
    std::int32_t process, pieces;  // pieces without this one
    bool above;                    // the level
    [[nodiscard]] bool operator<(const Offer& other) const;
  };
  void gather_input(TaskId task);
  void list_candidates(const WorkerRange& group, std::int32_t pieces);
  void deal(const TaskCut& cut);
  [[nodiscard]] bool stays(const TaskCut& cut);
  [[nodiscard]] Offer offer(const TaskCut& cut, std::int32_t process,
                            std::int32_t pieces) const;
  void run_parts(TaskId task, std::int32_t pieces);

  const TaskTree& tree_;
  std::span<const std::int32_t> counts_;
  Bytes level_;
  LeastLoaded loads_;
  std::vector<Bytes> peak_;
  std::vector<std::size_t> first_owner_;  // by task
  std::vector<std::int32_t> owners_;      // by task: how many
  std::vector<Owner> owner_;
  // Of the task at hand, by process; 0 for all between two tasks.
  std::vector<Bytes> held_;
  std::vector<std::int32_t> given_;
  std::vector<std::int32_t> holders_, candidates_, takes_part_;
};

}  // namespace espalier
