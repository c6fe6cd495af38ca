#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "espalier/sequential/downsets/downset_block.h"

namespace espalier {

/// A walk through the downsets of a block, task by task: from the empty set upwards, or
/// from all tasks downwards, which is the same problem with time reversed.
///
/// At every point the walk knows the level v(S), the tasks that may be next, and what
/// each of them needs and changes. Steps are taken back in the reverse order.
/// @par Cost  run() and take_back(): the data and neighbours of the task; change() and
///            hill(): its inputs
class DownsetWalk {
 public:
  enum class Direction { kForwards, kBackwards };

  DownsetWalk(const BlockIndex& block, Direction direction);

  [[nodiscard]] const BlockIndex& block() const { return *block_; }
  [[nodiscard]] Direction direction() const { return direction_; }
  [[nodiscard]] bool at_end() const { return steps_ == block_->size(); }
  [[nodiscard]] Bytes level() const { return level_; }
  /// Tasks that may be next, in no particular order. They determine the downset.
  [[nodiscard]] std::span<const BlockTaskId> ready() const { return ready_; }
  [[nodiscard]] bool is_ready(BlockTaskId task) const { return place_[task] != kNowhere; }

  /// Readers of the datum outside the downset.
  [[nodiscard]] std::int32_t unread(BlockDatumId datum) const { return unread_[datum]; }

  /// Level after the step less level before.
  [[nodiscard]] Bytes change(BlockTaskId task) const {
    return forwards() ? net(task) : -net(task);
  }
  /// Bytes in memory while the task of the step runs.
  [[nodiscard]] Bytes hill(BlockTaskId task) const {
    return block_->cost(task) + (forwards() ? level_ : level_ - net(task));
  }

  void run(BlockTaskId task);
  void take_back(BlockTaskId task);

  /// Tasks that have not been passed and whose change may have fallen with the last step.
  /// Over a whole walk each reader of a datum is named once for that datum.
  [[nodiscard]] std::span<const BlockTaskId> improved() const { return improved_; }

 private:
  static constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();
  [[nodiscard]] bool forwards() const { return direction_ == Direction::kForwards; }
  [[nodiscard]] std::span<const BlockTaskId> next(BlockTaskId task) const {
    return forwards() ? block_->successors(task) : block_->predecessors(task);
  }
  // v with the task less v without it, all else as it is now.
  [[nodiscard]] Bytes net(BlockTaskId task) const;
  void count_readers(BlockTaskId task, std::int32_t by);
  void list_improved(BlockTaskId task);
  void add_ready(BlockTaskId task);
  void remove_ready(BlockTaskId task);

  const BlockIndex* block_;
  Direction direction_;
  Bytes level_;
  std::size_t steps_ = 0;
  IdVector<BlockDatumId, std::int32_t> unread_;  // readers outside the downset
  IdVector<BlockTaskId, std::size_t> waiting_;   // neighbours that must come first
  std::vector<BlockTaskId> ready_, improved_;
  IdVector<BlockTaskId, std::size_t> place_;  // in ready_
};

}  // namespace espalier
