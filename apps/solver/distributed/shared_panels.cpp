// The panels of a shared front: those of others, what follows from them for the slots,
// and the tail.

#include "solver/distributed/shared_front.h"

#include "solver/distributed/process_part.h"

namespace espalier::solver {

using Kind = TileTask::Kind;

template <class T>
void SharedFront<T>::fetch_panels() {
  while (next_panel_ < panels_ && panels_here_ < SharedFrontRules::kPanels) {
    const std::int32_t k = next_panel_++;
    if (own(k) || updates_left_[k] == 0) continue;
    ++panels_here_;
    panel_memory(k, true);
    site_.channel.fetch(owner(k),
                        {.kind = DataRequest::Kind::kPanel, .node = node_, .block = k},
                        panel_parts(k), [this, k] {
                          const std::scoped_lock lock(mutex_);
                          panel_here_[k] = 1;
                          take_panels();
                        });
  }
}

// Panels in turn, as the slots follow them. Own ones are final when they are here.
template <class T>
void SharedFront<T>::take_panels() {
  while (next_take_ < panels_) {
    const std::int32_t k = next_take_;
    if (panel_here_[k] == 0 || taking_) return;
    if (!own(k)) {
      if (!may_take(k)) return;
      tasks_->arrived(k);
    }
    ++next_take_;
  }
  take_tail();
}

// Whether nothing is to be done about the slots, before the panel of another process is
// used; else it begins.
template <class T>
bool SharedFront<T>::may_take(std::int32_t panel) {
  if (!may_delay_) return true;
  const bool slots = front().slots() > 0;
  if (slots && !slots_asked_) {
    slots_asked_ = true;
    slots_here_ = false;
    front().open_slot_rows(panel);
    site_.channel.fetch(
        owner(panel), {.kind = DataRequest::Kind::kSlots, .node = node_, .block = panel},
        front().slot_rows(panel), [this] {
          const std::scoped_lock lock(mutex_);
          slots_here_ = true;
          take_panels();
        });
    return false;
  }
  if (slots && !slots_here_) return false;
  if (!slots && front().put_off(panel) == 0) {
    front().take_panel(panel);  // for its notes alone
    return true;
  }
  taking_ = true;
  tasks_->spawn({Kind::kTake, panel, 0, 0});
  return false;
}

// The slots as they left the last of the panels.
template <class T>
void SharedFront<T>::take_tail() {
  if (!may_delay_ || own(panels_ - 1) || !own_contribution() || tail_asked_) return;
  tail_asked_ = true;
  if (front().slots() == 0) return tasks_->finished();
  front().open_tail();
  site_.channel.fetch(owner(panels_ - 1),
                      {.kind = DataRequest::Kind::kTail, .node = node_}, front().tail(),
                      [this] {
                        const std::scoped_lock lock(mutex_);
                        tail_here_ = true;
                        tasks_->finished();
                      });
}

template <class T>
void SharedFront<T>::end_of_update(std::int32_t panel) {
  if (--updates_left_[panel] > 0 || own(panel)) return;
  panel_memory(panel, false);
  --panels_here_;
  advance();
}

// An own block column is final.
template <class T>
void SharedFront<T>::end_of_panel(std::int32_t panel) {
  if (may_delay_ && front().slots_before(panel) > 0) left_ += clients(panel);
  panel_here_[panel] = 1;
  answer_waiting();
  take_panels();
}

// The tail is factored, here.
template <class T>
void SharedFront<T>::end_of_pivots() {
  tail_here_ = true;
  if (front().slots() > 0) left_ += clients(panels_ - 1);
  answer_waiting();
}

// A factored block column: both sides, D, and what was put off.
template <class T>
Channel::Parts SharedFront<T>::panel_parts(std::int32_t block) {
  const BlockColumn<T> column = block_column(front().storage(), block);
  Channel::Parts parts;
  for (std::int32_t side = 0; side < front().storage().sides; ++side)
    parts.push_back(std::as_writable_bytes(column.entries(side)));
  if (site_.context.tree.kind == FactorKind::kLdlt)
    parts.push_back(std::as_writable_bytes(front().d_of(column)));
  if (may_delay_) parts.push_back(front().notes(block)[0]);
  return parts;
}

template <class T>
PageBuffer& SharedFront<T>::panel_buffer() {
  return front().has_delayed() ? site_.context.factor.front[front_].delays->panel
                               : site_.context.factor.storage[node_];
}

template <class T>
void SharedFront<T>::panel_memory(std::int32_t block, bool take) {
  const BlockColumn<T> column = block_column(front().storage(), block);
  PageBuffer& buffer = panel_buffer();
  for (std::int32_t side = 0; side < front().storage().sides; ++side) {
    const auto place = std::as_bytes(column.entries(side));
    take ? buffer.fill(place) : buffer.drain(place);
  }
}

// What blocks of others have left between own ones and behind them.
template <class T>
void SharedFront<T>::drain_others() {
  PageBuffer& buffer = panel_buffer();
  Bytes end = 0;  // of the own block before
  for (std::int32_t side = 0; side < front().storage().sides; ++side)
    for (const std::int32_t b : own_) {
      if (b >= panels_) continue;
      const auto place = std::as_bytes(block_column(front().storage(), b).entries(side));
      const Bytes begin = place.data() - buffer.data();
      buffer.drain(end, begin);
      end = begin + std::ssize(place);
    }
  buffer.drain(end, buffer.size());
}

#define ESPALIER_INSTANTIATE(T)                                      \
  template void SharedFront<T>::fetch_panels();                      \
  template void SharedFront<T>::take_panels();                       \
  template void SharedFront<T>::end_of_update(std::int32_t);         \
  template void SharedFront<T>::end_of_panel(std::int32_t);          \
  template void SharedFront<T>::end_of_pivots();                     \
  template Channel::Parts SharedFront<T>::panel_parts(std::int32_t); \
  template void SharedFront<T>::drain_others();
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
