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
    if (uses_left_[k] == 0) continue;
    const auto strips = tiles_->needed_strips(site_.process, k);
    if (strips.empty()) continue;
    ++panels_here_;
    for (const std::int32_t strip : strips) fetch_tile(strip, k);
  }
}

template <class T>
void SharedFront<T>::fetch_tile(std::int32_t strip, std::int32_t panel) {
  tile_memory(strip, panel, true);
  site_.channel.fetch(
      tiles_->owner(strip, panel),
      {.kind = DataRequest::Kind::kPanel, .node = node_, .block = panel, .strip = strip},
      tile_parts(strip, panel), [this, strip, panel] {
        const std::scoped_lock lock(mutex_);
        if (may_delay_) {
          tile_here_[place(strip, panel)] = 1;
          return take_panels();
        }
        const std::vector<std::int32_t>& rows = tiles_->strip_rows();
        tasks_->arrived(panel, rows[strip], rows[strip + 1]);
      });
}

// Panels in turn, as the slots follow them. Own ones are final when they are here.
template <class T>
void SharedFront<T>::take_panels() {
  while (may_delay_ && next_take_ < panels_) {
    const std::int32_t k = next_take_;
    if (tile_here_[k] == 0 || taking_) return;
    if (!own(k)) {
      if (!may_take(k)) return;
      tasks_->arrived(k, 0, front().order());
    }
    ++next_take_;
  }
  take_tail();
}

// Whether nothing is to be done about the slots, before the panel of another process is
// used; else it begins.
template <class T>
bool SharedFront<T>::may_take(std::int32_t panel) {
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

// A task on own tiles has used what it needs of a panel.
template <class T>
void SharedFront<T>::end_of_use(std::int32_t panel) {
  if (--uses_left_[panel] > 0) return;
  const auto strips = tiles_->needed_strips(site_.process, panel);
  if (strips.empty()) return;
  for (const std::int32_t strip : strips) tile_memory(strip, panel, false);
  --panels_here_;
  advance();
}

// A task of the panel has ended: its rows are final, or all of the tiles here.
template <class T>
void SharedFront<T>::end_of_solve(const TileTask& task) {
  const TileShape& shape = tasks_->shape();
  if (task.kind == Kind::kSolve && !own(task.column)) end_of_use(task.column);
  if (task.kind == Kind::kAccept)
    end_of_tile(tiles_->strip_of(task.column), task.column,
                shape.groups() - shape.group_of(task.column));
  else if (!shape.accepts(task.column))
    end_of_tile(strip_of_group(task.row), task.column, 1);
}

// So many more groups of rows of an own tile are final.
template <class T>
void SharedFront<T>::end_of_tile(std::int32_t strip, std::int32_t panel,
                                 std::int32_t groups) {
  std::int32_t& left = tile_left_[place(strip, panel)];
  left -= groups;
  if (left > 0) return;
  if (may_delay_ && front().slots_before(panel) > 0) left_ += clients(panel);
  tile_here_[place(strip, panel)] = 1;
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

// A factored tile: both sides, D of its columns, and what was put off.
template <class T>
Channel::Parts SharedFront<T>::tile_parts(std::int32_t strip, std::int32_t panel) {
  const BlockTile<T> tile = front().tile(strip, panel);
  Channel::Parts parts;
  for (std::int32_t side = 0; side < front().storage().sides; ++side)
    parts.push_back(std::as_writable_bytes(tile.entries(side)));
  if (site_.context.tree.kind == FactorKind::kLdlt)
    parts.push_back(
        std::as_writable_bytes(front().d_of(block_column(front().storage(), panel))));
  if (may_delay_) parts.push_back(front().notes(panel)[0]);
  return parts;
}

template <class T>
PageBuffer& SharedFront<T>::panel_buffer() {
  return front().has_delayed() ? site_.context.factor.front[front_].delays->panel
                               : site_.context.factor.storage[node_];
}

template <class T>
void SharedFront<T>::tile_memory(std::int32_t strip, std::int32_t panel, bool take) {
  const BlockTile<T> tile = front().tile(strip, panel);
  PageBuffer& buffer = panel_buffer();
  for (std::int32_t side = 0; side < front().storage().sides; ++side) {
    const auto place = std::as_bytes(tile.entries(side));
    take ? buffer.fill(place) : buffer.drain(place);
  }
}

// What tiles of others have left between own ones and behind them.
template <class T>
void SharedFront<T>::drain_others() {
  PageBuffer& buffer = panel_buffer();
  Bytes end = 0;  // of the own tile before
  for (std::int32_t side = 0; side < front().storage().sides; ++side)
    for (const std::int32_t b : own_)
      for (std::int32_t s = 0; b < panels_ && s < tiles_->strips(); ++s) {
        if (!own(s, b)) continue;
        const auto [begin, next] = tiles_->bytes(s, b, side);
        buffer.drain(end, begin);
        end = next;
      }
  buffer.drain(end, buffer.size());
}

#define ESPALIER_INSTANTIATE(T)                                                   \
  template void SharedFront<T>::fetch_panels();                                   \
  template void SharedFront<T>::take_panels();                                    \
  template void SharedFront<T>::end_of_use(std::int32_t);                         \
  template void SharedFront<T>::end_of_solve(const TileTask&);                    \
  template void SharedFront<T>::end_of_pivots();                                  \
  template Channel::Parts SharedFront<T>::tile_parts(std::int32_t, std::int32_t); \
  template void SharedFront<T>::drain_others();
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
