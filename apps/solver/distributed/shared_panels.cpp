// The panels of a shared front: those of others, what follows from them for the slots,
// and the tail.

#include "solver/distributed/shared_front.h"

#include "solver/distributed/process_part.h"

namespace espalier::solver {

using Kind = TileTask::Kind;

template <class T>
void SharedFront<T>::fetch_panels() {
  while (next_panel_ < panels_ && panels_here_ < site_.distribution.panels_at_once) {
    const std::int32_t k = next_panel_++;
    if (uses_left_[k] == 0) continue;
    const auto strips = tiles_->needed_strips(site_.process, k);
    if (strips.empty()) continue;
    ++panels_here_;
    for (const std::int32_t strip : strips) fetch_tile(strip, k);
  }
}

// The notes come once, with the first of the tiles, if the panel is not known here by its
// own tiles.
template <class T>
void SharedFront<T>::fetch_tile(std::int32_t strip, std::int32_t panel) {
  const bool notes =
      !spread(panel) && tiles_->needed_strips(site_.process, panel).front() == strip;
  tile_memory(strip, panel, true);
  site_.channel.fetch(tiles_->owner(strip, panel),
                      {.kind = DataRequest::Kind::kPanel,
                       .node = node_,
                       .block = panel,
                       .strip = strip,
                       .first = notes ? 1 : 0},
                      tile_parts(strip, panel, notes), [this, strip, panel] {
                        const std::scoped_lock lock(mutex_);
                        tile_came(strip, panel);
                      });
}

template <class T>
void SharedFront<T>::tile_came(std::int32_t strip, std::int32_t panel) {
  if (!in_turn_) return tile_arrives(strip, panel);
  tile_here_[place(strip, panel)] = 1;
  if (!own(panel)) return take_panels();
  // What the others may know already: how many columns are eliminated.
  if (tile_here_[place(tiles_->strip_of(panel), panel)] != 0) tile_arrives(strip, panel);
}

template <class T>
void SharedFront<T>::tile_arrives(std::int32_t strip, std::int32_t panel) {
  const std::vector<std::int32_t>& rows = tiles_->strip_rows();
  tasks_->arrived(panel, rows[strip], rows[strip + 1]);
}

// Whether all tiles of a panel are here that are own or needed, and there are any.
template <class T>
bool SharedFront<T>::panel_here(std::int32_t panel) const {
  bool any = false;
  for (std::int32_t s = tiles_->strip_of(panel); s < tiles_->strips(); ++s) {
    if (!own(s, panel) && !tiles_->needs(site_.process, s, panel)) continue;
    any = true;
    if (tile_here_[place(s, panel)] == 0) return false;
  }
  return any;
}

// Panels in turn, as the slots follow them. Own ones are final when they are here.
template <class T>
void SharedFront<T>::take_panels() {
  while (in_turn_ && next_take_ < panels_) {
    const std::int32_t k = next_take_;
    if (taking_) return;
    if (own(k)) {
      if (tile_here_[place(tiles_->strip_of(k), k)] == 0) return;
    } else {
      if (!panel_here(k) || !may_take(k)) return;
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
  const bool any = front().slots() > 0 || front().put_off(panel) > 0;
  const bool slots = tiles_->strips() == 1
                         ? front().slots() > 0
                         : any && tiles_->follows_after(site_.process, panel);
  if (slots && !slots_asked_) {
    slots_asked_ = true;
    slots_here_ = false;
    front().open_slot_rows(panel);
    site_.channel.fetch(owner(panel),
                        {.kind = DataRequest::Kind::kSlots,
                         .node = node_,
                         .block = panel,
                         .strip = tiles_->strip_of(panel)},
                        front().slot_rows(panel), [this] {
                          const std::scoped_lock lock(mutex_);
                          slots_here_ = true;
                          take_panels();
                        });
    return false;
  }
  if (slots && !slots_here_) return false;
  if (!any) {
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
  if (!may_delay_ || tail_asked_) return;
  pack_tail_rows();
  if (own(panels_ - 1)) return collect_tail();
  if (!own_contribution()) return;
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
  if (!shape.accepts(task.column)) {
    if (task.kind == Kind::kSolve && !own(task.column)) end_of_use(task.column);
    end_of_tile(strip_of_group(task.row), task.column);
  } else if (task.kind == Kind::kAccept) {
    end_of_accept(task.column);
  } else if (spread(task.column)) {
    end_of_trial(task);
  }
}

// One group of rows more of an own tile is final.
template <class T>
void SharedFront<T>::end_of_tile(std::int32_t strip, std::int32_t panel) {
  if (--tile_left_[place(strip, panel)] > 0) return;
  tile_final(strip, panel);
  answer_waiting();
  take_panels();
}

template <class T>
void SharedFront<T>::tile_final(std::int32_t strip, std::int32_t panel) {
  if (may_delay_ && strip == tiles_->strip_of(panel)) left_ += followers(panel);
  tile_here_[place(strip, panel)] = 1;
}

// Those who will ask for the slots' rows in an own panel.
template <class T>
std::int32_t SharedFront<T>::followers(std::int32_t panel) const {
  const Front<T>& own = tasks_->front();
  if (tiles_->strips() == 1)
    return own.slots_before(panel) > 0 ? tiles_->clients(0, panel) : 0;
  if (own.slots_before(panel) == 0 && own.put_off(panel) == 0) return 0;
  std::int32_t count = 0;
  for (std::int32_t p = group().first; p < group().first + group().count; ++p)
    count += p != site_.process && tiles_->follows_after(p, panel) ? 1 : 0;
  return count;
}

template <class T>
std::int32_t SharedFront<T>::tail_clients() const {
  std::int32_t count = 0;
  for (std::int32_t p = group().first; p < group().first + group().count; ++p) {
    bool any = false;
    for (std::int32_t b = panels_; b < blocks_ && !any; ++b) any = tiles_->has_any(p, b);
    count += p != site_.process && any ? 1 : 0;
  }
  return count;
}

// The tail is factored, here.
template <class T>
void SharedFront<T>::end_of_pivots() {
  tail_here_ = true;
  if (front().slots() > 0) left_ += tail_clients();
  answer_waiting();
}

// A factored tile: both sides; with notes D of its columns, and what was put off.
template <class T>
Channel::Parts SharedFront<T>::tile_parts(std::int32_t strip, std::int32_t panel,
                                          bool notes) {
  const BlockTile<T> tile = front().tile(strip, panel);
  Channel::Parts parts;
  for (std::int32_t side = 0; side < front().storage().sides; ++side)
    parts.push_back(std::as_writable_bytes(tile.entries(side)));
  if (notes) add_notes(panel, parts);
  return parts;
}

template <class T>
void SharedFront<T>::add_notes(std::int32_t panel, Channel::Parts& parts) {
  if (site_.context.tree.kind == FactorKind::kLdlt)
    parts.push_back(
        std::as_writable_bytes(front().d_of(block_column(front().storage(), panel))));
  if (in_turn_) parts.push_back(front().notes(panel)[0]);
}

template <class T>
PageBuffer& SharedFront<T>::panel_buffer() {
  return front().has_delayed() ? site_.context.factor.delays_of(front_)->panel
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

#define ESPALIER_INSTANTIATE(T)                                                         \
  template void SharedFront<T>::fetch_panels();                                         \
  template void SharedFront<T>::take_panels();                                          \
  template void SharedFront<T>::end_of_use(std::int32_t);                               \
  template void SharedFront<T>::end_of_solve(const TileTask&);                          \
  template void SharedFront<T>::end_of_pivots();                                        \
  template void SharedFront<T>::tile_final(std::int32_t, std::int32_t);                 \
  template void SharedFront<T>::tile_arrives(std::int32_t, std::int32_t);               \
  template void SharedFront<T>::add_notes(std::int32_t, Channel::Parts&);               \
  template Channel::Parts SharedFront<T>::tile_parts(std::int32_t, std::int32_t, bool); \
  template void SharedFront<T>::drain_others();
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
