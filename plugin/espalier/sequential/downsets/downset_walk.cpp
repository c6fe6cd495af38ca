#include "espalier/sequential/downsets/downset_walk.h"

namespace espalier {

DownsetWalk::DownsetWalk(const BlockIndex& block, Direction direction)
    : block_(&block),
      direction_(direction),
      level_(forwards() ? block.start_level() : block.end_level()),
      unread_(block.data(), 0),
      waiting_(block.size()),
      place_(block.size(), kNowhere) {
  if (forwards()) {
    for (const BlockDatumId datum : unread_.ids()) {
      unread_[datum] = static_cast<std::int32_t>(block.readers(datum).size());
    }
  }
  for (const BlockTaskId task : waiting_.ids()) {
    const auto first = forwards() ? block.predecessors(task) : block.successors(task);
    waiting_[task] = first.size();
    if (first.empty()) add_ready(task);
  }
}

Bytes DownsetWalk::net(BlockTaskId task) const {
  const std::int32_t itself = forwards() ? 1 : 0;  // is the task outside the downset?
  Bytes bytes = block_->left_by(task);
  for (const BlockDatumId datum : block_->inputs(task)) {
    if (unread_[datum] == itself && !block_->stays(datum)) {
      bytes -= block_->datum_size(datum);
    }
  }
  return bytes;
}

void DownsetWalk::count_readers(BlockTaskId task, std::int32_t by) {
  for (const BlockDatumId datum : block_->inputs(task)) unread_[datum] += by;
}

void DownsetWalk::list_improved(BlockTaskId task) {
  improved_.clear();
  for (const BlockDatumId datum : block_->inputs(task)) {
    if (unread_[datum] != 1 || block_->stays(datum)) continue;
    const auto readers = block_->readers(datum);
    improved_.insert(improved_.end(), readers.begin(), readers.end());
  }
}

void DownsetWalk::add_ready(BlockTaskId task) {
  place_[task] = ready_.size();
  ready_.push_back(task);
}

void DownsetWalk::remove_ready(BlockTaskId task) {
  const std::size_t place = place_[task];
  ready_[place] = ready_.back();
  place_[ready_.back()] = place;
  ready_.pop_back();
  place_[task] = kNowhere;
}

void DownsetWalk::run(BlockTaskId task) {
  level_ += change(task);
  ++steps_;
  remove_ready(task);
  count_readers(task, forwards() ? -1 : 1);
  for (const BlockTaskId after : next(task)) {
    if (--waiting_[after] == 0) add_ready(after);
  }
  list_improved(task);
}

void DownsetWalk::take_back(BlockTaskId task) {
  for (const BlockTaskId after : next(task)) {
    if (waiting_[after]++ == 0) remove_ready(after);
  }
  count_readers(task, forwards() ? 1 : -1);
  add_ready(task);
  --steps_;
  level_ -= change(task);
}

}  // namespace espalier
