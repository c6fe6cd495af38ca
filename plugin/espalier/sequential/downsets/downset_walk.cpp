#include "espalier/sequential/downsets/downset_walk.h"

namespace espalier {

DownsetWalk::DownsetWalk(const BlockIndex& block, Direction direction)
    : block_(&block),
      direction_(direction),
      level_(forwards() ? block.start_level() : block.end_level()),
      unread_(block.data(), 0),
      waiting_(block.size()),
      place_(block.size(), -1) {
  for (std::size_t d = 0; forwards() && d < block.data(); ++d) {
    unread_[d] =
        static_cast<std::int32_t>(block.readers(static_cast<std::int32_t>(d)).size());
  }
  for (std::size_t i = 0; i < block.size(); ++i) {
    const auto task = static_cast<std::int32_t>(i);
    const auto first = forwards() ? block.predecessors(task) : block.successors(task);
    waiting_[i] = static_cast<std::int32_t>(first.size());
    if (first.empty()) add_ready(task);
  }
}

Bytes DownsetWalk::net(std::int32_t task) const {
  const std::int32_t itself = forwards() ? 1 : 0;  // is the task outside the downset?
  Bytes bytes = block_->left_by(task);
  for (const std::int32_t datum : block_->inputs(task)) {
    if (unread_[at(datum)] == itself && !block_->stays(datum)) {
      bytes -= block_->datum_size(datum);
    }
  }
  return bytes;
}

void DownsetWalk::count_readers(std::int32_t task, std::int32_t by) {
  for (const std::int32_t datum : block_->inputs(task)) unread_[at(datum)] += by;
}

void DownsetWalk::list_improved(std::int32_t task) {
  improved_.clear();
  for (const std::int32_t datum : block_->inputs(task)) {
    if (unread_[at(datum)] != 1 || block_->stays(datum)) continue;
    const auto readers = block_->readers(datum);
    improved_.insert(improved_.end(), readers.begin(), readers.end());
  }
}

void DownsetWalk::add_ready(std::int32_t task) {
  place_[at(task)] = static_cast<std::int32_t>(ready_.size());
  ready_.push_back(task);
}

void DownsetWalk::remove_ready(std::int32_t task) {
  const std::int32_t place = place_[at(task)];
  ready_[at(place)] = ready_.back();
  place_[at(ready_.back())] = place;
  ready_.pop_back();
  place_[at(task)] = -1;
}

void DownsetWalk::run(std::int32_t task) {
  level_ += change(task);
  ++steps_;
  remove_ready(task);
  count_readers(task, forwards() ? -1 : 1);
  for (const std::int32_t after : next(task)) {
    if (--waiting_[at(after)] == 0) add_ready(after);
  }
  list_improved(task);
}

void DownsetWalk::take_back(std::int32_t task) {
  for (const std::int32_t after : next(task)) {
    if (waiting_[at(after)]++ == 0) remove_ready(after);
  }
  count_readers(task, forwards() ? 1 : -1);
  add_ready(task);
  --steps_;
  level_ -= change(task);
}

}  // namespace espalier
