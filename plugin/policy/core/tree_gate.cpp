#include "policy/core/tree_gate.h"

#include <algorithm>

#include "espalier/model/error.h"

namespace espalier::policy {

TreeGate::TreeGate(std::shared_ptr<const Plan> plan, std::optional<Bytes> bound)
    : plan_(std::move(plan)),
      nodes_(plan_->tree->size()),
      booking_(*plan_->tree, plan_->witness, bound.value_or(plan_->memory_bound),
               bound ? MemoryBooking::Bound::kHoped : MemoryBooking::Bound::kSure) {
  booking_.activate(startable_);
  std::vector<Released> none;
  start_locked(0, none);
}

bool TreeGate::bind(TaskId node) {
  std::atomic<std::uint32_t>& pending = nodes_[index(node)].pending;
  std::uint32_t seen = pending.load(std::memory_order_relaxed);
  do {
    if ((seen & Node::kOpen) == 0) return false;
  } while (!pending.compare_exchange_weak(seen, seen + 1, std::memory_order_relaxed));
  return true;
}

bool TreeGate::admit(TaskId id, void* task, Seconds now) {
  Node& node = nodes_[index(id)];
  if (node.started) return true;
  const std::scoped_lock lock(mutex_);
  if (node.started) return true;
  std::int32_t slot = free_held_;
  if (slot >= 0) {
    free_held_ = held_[static_cast<std::size_t>(slot)].older;
  } else {
    slot = static_cast<std::int32_t>(held_.size());
    held_.emplace_back();
  }
  held_[static_cast<std::size_t>(slot)] = {task, now, node.newest_held};
  node.newest_held = slot;
  ++report_.held_tasks;
  return false;
}

// The last of these to bring `pending` to 0 ends the node. Acquire and release: what the
// tasks of the node did happens before whatever starts because it ended.
void TreeGate::finish(TaskId node, Seconds now, std::vector<Released>& released) {
  const std::uint32_t before =
      nodes_[index(node)].pending.fetch_sub(1, std::memory_order_acq_rel);
  ESPALIER_ASSERT((before & ~Node::kOpen) != 0, "more tasks ended than were bound");
  if (before == 1) drained(node, now, released);
}

bool TreeGate::close(TaskId node, Seconds now, std::vector<Released>& released) {
  const std::uint32_t before =
      nodes_[index(node)].pending.fetch_and(~Node::kOpen, std::memory_order_acq_rel);
  if ((before & Node::kOpen) == 0) return false;
  if (before == Node::kOpen) drained(node, now, released);
  return true;
}

void TreeGate::drained(TaskId id, Seconds now, std::vector<Released>& released) {
  const std::scoped_lock lock(mutex_);
  const Node& node = nodes_[index(id)];
  // Not started: start_locked() will end it. Ended: start_locked() was faster.
  if (node.started && !node.ended) end_locked(id, now, released);
}

void TreeGate::end_locked(TaskId first, Seconds now, std::vector<Released>& released) {
  nodes_[index(first)].ended = true;
  ending_.push_back(first);
  go_on_locked(now, released);
}

// Ends what is to end, and all that this lets start and that have nothing to do. A work
// list: a chain of a million empty nodes ends here at once.
void TreeGate::go_on_locked(Seconds now, std::vector<Released>& released) {
  while (!ending_.empty()) {
    const TaskId node = ending_.back();
    ending_.pop_back();
    ++report_.nodes_ended;
    if (!report_.cancelled) booking_.complete(node, startable_);
    start_locked(now, released);
  }
}

void TreeGate::start_locked(Seconds now, std::vector<Released>& released) {
  ESPALIER_ASSERT(booking_.booked_total() <= booking_.bound(), "booked above the bound");
  for (const TaskId id : startable_) {
    Node& node = nodes_[index(id)];
    node.started = true;
    release_locked(id, now, released);
    if (node.pending.load(std::memory_order_acquire) == 0 && !node.ended) {
      node.ended = true;
      ending_.push_back(id);
    }
  }
  startable_.clear();
}

// Oldest first.
void TreeGate::release_locked(TaskId id, Seconds now, std::vector<Released>& released) {
  Node& node = nodes_[index(id)];
  const auto first = static_cast<std::ptrdiff_t>(released.size());
  while (node.newest_held >= 0) {
    const std::int32_t slot = node.newest_held;
    Held& held = held_[static_cast<std::size_t>(slot)];
    released.push_back({held.task, id});
    report_.held_time += now - held.since;
    node.newest_held = held.older;
    held.older = free_held_;
    free_held_ = slot;
  }
  std::reverse(released.begin() + first, released.end());
}

void TreeGate::cancel(Seconds now, std::vector<Released>& released) {
  const std::scoped_lock lock(mutex_);
  report_.cancelled = true;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (!nodes_[i].started) startable_.push_back(task_id(i));
  start_locked(now, released);
  report_.nodes_ended += static_cast<std::int64_t>(ending_.size());
  ending_.clear();
}

bool TreeGate::give_back(TaskId node, Bytes bytes, Seconds now,
                         std::vector<Released>& released) {
  const std::scoped_lock lock(mutex_);
  if (report_.cancelled) return true;
  if (!booking_.give_back(node, bytes, startable_)) return false;
  report_.given_back += bytes;
  start_locked(now, released);
  go_on_locked(now, released);
  return true;
}

Bytes TreeGate::missing() const {
  const std::scoped_lock lock(mutex_);
  return report_.cancelled ? 0 : booking_.missing();
}

bool TreeGate::allocate(std::int32_t node, Bytes delta) {
  const std::scoped_lock lock(mutex_);
  const Bytes allocated = checked_add(report_.allocated, delta);
  if (allocated < 0) throw OverflowError("more was given back than was allocated");
  report_.allocated = allocated;
  report_.allocated_peak = std::max(report_.allocated_peak, allocated);
  const Bytes over = allocated - booking_.booked_total();
  if (delta <= 0 || over <= 0 || report_.cancelled) return true;
  if (report_.overruns++ == 0) report_.overrun_node = node;
  report_.overrun_bytes = std::max(report_.overrun_bytes, over);
  return false;
}

bool TreeGate::done() const {
  const std::scoped_lock lock(mutex_);
  if (report_.nodes_ended == static_cast<std::int64_t>(nodes_.size())) return true;
  return report_.cancelled &&
         std::all_of(nodes_.begin(), nodes_.end(),
                     [](const Node& n) { return (n.pending & ~Node::kOpen) == 0; });
}

TreeGateReport TreeGate::report() const {
  const std::scoped_lock lock(mutex_);
  TreeGateReport report = report_;
  report.booked_peak = booking_.booked_peak();
  return report;
}

}  // namespace espalier::policy
