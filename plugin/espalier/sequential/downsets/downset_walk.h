#pragma once

#include <cstddef>
#include <cstdint>
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
  [[nodiscard]] std::span<const std::int32_t> ready() const { return ready_; }
  [[nodiscard]] bool is_ready(std::int32_t task) const { return place_[at(task)] >= 0; }

  /// Readers of the datum outside the downset.
  [[nodiscard]] std::int32_t unread(std::int32_t datum) const {
    return unread_[at(datum)];
  }

  /// Level after the step less level before.
  [[nodiscard]] Bytes change(std::int32_t task) const {
    return forwards() ? net(task) : -net(task);
  }
  /// Bytes in memory while the task of the step runs.
  [[nodiscard]] Bytes hill(std::int32_t task) const {
    return block_->cost(task) + (forwards() ? level_ : level_ - net(task));
  }

  void run(std::int32_t task);
  void take_back(std::int32_t task);

  /// Tasks that have not been passed and whose change may have fallen with the last step.
  /// Over a whole walk each reader of a datum is named once for that datum.
  [[nodiscard]] std::span<const std::int32_t> improved() const { return improved_; }

 private:
  static std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }
  [[nodiscard]] bool forwards() const { return direction_ == Direction::kForwards; }
  [[nodiscard]] std::span<const std::int32_t> next(std::int32_t task) const {
    return forwards() ? block_->successors(task) : block_->predecessors(task);
  }
  // v with the task less v without it, all else as it is now.
  [[nodiscard]] Bytes net(std::int32_t task) const;
  void count_readers(std::int32_t task, std::int32_t by);
  void list_improved(std::int32_t task);
  void add_ready(std::int32_t task);
  void remove_ready(std::int32_t task);

  const BlockIndex* block_;
  Direction direction_;
  Bytes level_;
  std::size_t steps_ = 0;
  std::vector<std::int32_t> unread_;   // by datum: readers outside the downset
  std::vector<std::int32_t> waiting_;  // by task: neighbours that must come first
  std::vector<std::int32_t> ready_, place_, improved_;
};

}  // namespace espalier
