#include "espalier/parallel/memory_booking.h"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/model/error.h"
#include "espalier/model/replay.h"

namespace espalier {

MemoryBooking::MemoryBooking(const TaskTree& tree, std::span<const TaskId> order,
                             Bytes bound, Bound kind)
    : tree_(&tree),
      order_(order.begin(), order.end()),
      booked_(tree.size(), 0),
      slack_(tree),
      children_left_(tree.size()),
      state_(tree.size(), State::kWaiting),
      bound_(bound),
      unfinished_(tree.size()) {
  const Bytes peak = replay(tree, order).peak;  // refuses what is no order of the tree
  if (peak > bound && kind == Bound::kSure) {
    throw InvalidInput(
        fmt::format("the activation order needs {} bytes, the bound is {}", peak, bound));
  }
  for (std::size_t i = 0; i < tree.size(); ++i) {
    children_left_[i] = static_cast<std::int32_t>(tree.children(task_id(i)).size());
  }
  if (!order_.empty()) open_candidate();
}

// subtree_booked - r: what the parent of an activated task will have of its subtree.
Bytes MemoryBooking::handed_up(TaskId task) const {
  return slack_.slack(task) + tree_->memory_requirement(task) -
         tree_->retained_size(task);
}

// The children of order_[next_] are activated or have ended. From now on what they free
// is kept for it: a candidate that waits has slack 0, and misses the same bytes until it
// is activated.
void MemoryBooking::open_candidate() {
  const TaskId task = order_[next_];
  Bytes subtree_booked = booked_[index(task)];
  for (const TaskId child : tree_->children(task)) {
    if (state_[index(child)] != State::kEnded) subtree_booked += handed_up(child);
  }
  const Bytes need = tree_->memory_requirement(task);
  missing_ = std::max<Bytes>(0, need - subtree_booked);
  slack_.open(task, std::max<Bytes>(0, subtree_booked - need));
}

void MemoryBooking::activate(std::vector<TaskId>& startable) {
  while (next_ < order_.size() && missing_ <= bound_ - booked_total_) {
    const TaskId task = order_[next_];
    booked_[index(task)] += missing_;
    booked_total_ += missing_;
    state_[index(task)] = State::kActivated;
    if (children_left_[index(task)] == 0) startable.push_back(task);
    if (++next_ < order_.size()) open_candidate();
  }
  booked_peak_ = std::max(booked_peak_, booked_total_);
}

void MemoryBooking::complete(TaskId task, std::vector<TaskId>& startable) {
  ESPALIER_ASSERT(this->startable(task), "a task ends once, after it may run");
  const Bytes output = tree_->output_size(task);
  const Bytes retained = tree_->retained_size(task) - given_back(task);
  const Bytes left = booked_[index(task)] - output - retained;
  ESPALIER_ASSERT(left >= 0, "a startable task has booked its need");
  booked_[index(task)] = 0;
  state_[index(task)] = State::kEnded;
  --unfinished_;
  Bytes freed = left;
  if (const std::optional<TaskId> parent = tree_->parent(task)) {
    booked_[index(*parent)] += output;
    freed = slack_.climb(*parent, left, booked_);
    if (--children_left_[index(*parent)] == 0 && activated(*parent)) {
      startable.push_back(*parent);
    }
  }
  booked_total_ -= freed;
  activate(startable);
}

// A running task's need and what is booked for it become less alike: its slack stays.
bool MemoryBooking::give_back(TaskId task, Bytes bytes, std::vector<TaskId>& startable) {
  const bool ended = state_[index(task)] == State::kEnded;
  if (bytes < 0 || bytes > tree_->retained_size(task) - given_back(task) ||
      !(ended || this->startable(task)))
    return false;
  if (bytes == 0) return true;
  if (given_back_.empty()) given_back_.resize(tree_->size());
  given_back_[index(task)] += bytes;
  if (!ended) booked_[index(task)] -= bytes;
  booked_total_ -= bytes;
  activate(startable);
  return true;
}

// Of those activated one that has not ended has all that it needs.
Bytes MemoryBooking::missing() const {
  const bool all_ended = next_ == order_.size() - unfinished_;
  if (next_ == order_.size() || !all_ended) return 0;
  return missing_ - (bound_ - booked_total_);
}

bool MemoryBooking::activated(TaskId task) const {
  return state_[index(task)] != State::kWaiting;
}

bool MemoryBooking::startable(TaskId task) const {
  return state_[index(task)] == State::kActivated && children_left_[index(task)] == 0;
}

}  // namespace espalier
