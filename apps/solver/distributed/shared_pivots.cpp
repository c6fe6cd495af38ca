// Panels of a shared front whose rows several processes have, until they are accepted,
// and the rows of the tail. One protocol, both ends of every message: over 300 lines.

#include <algorithm>
#include <utility>

#include "solver/distributed/shared_front.h"
#include "solver/memory/writable_bytes.h"

namespace espalier::solver {

using Kind = TileTask::Kind;

// Every other process in the grid's column asks the owner of the diagonal block twice.
// The rows of the tail are asked for where they are.
template <class T>
void SharedFront<T>::count_acceptance() {
  const TileShape& shape = tasks_->shape();
  if (may_delay_ && !own(panels_ - 1) && !tiles_->tail_rows(site_.process).empty()) {
    ++left_;
    tasks_->hold();  // the slots' rows are followed when own tiles are done
  }
  if (!in_turn_ || tiles_->strips() == 1) return;
  acceptance_.resize(static_cast<std::size_t>(panels_));
  bool owns = false, helps = false;
  for (std::int32_t k = 0; k < panels_; ++k) {
    Acceptance& panel = acceptance_[k];
    const auto others = static_cast<std::int32_t>(tiles_->others_in(k).size());
    panel.spread = others > 0 && tiles_->has_any(site_.process, k);
    if (!panel.spread) continue;
    for (std::int32_t row = shape.group_of(k); row < shape.groups(); ++row)
      panel.groups += own(std::max(strip_of_group(row), tiles_->strip_of(k)), k) ? 1 : 0;
    (own(k) ? owns : helps) = true;
    if (!own(k)) continue;
    panel.pending = 2 * others;
    left_ += 2 * others;
  }
  const std::int64_t width = tiles_->panel().width(0);
  const Bytes bytes = width * width * static_cast<Bytes>(sizeof(T));
  const FrontContext<T>& context = site_.context;
  if (owns) trial_out_ = PageBuffer(bytes, context.meter, context.pool);
  if (helps) trial_in_ = PageBuffer(bytes, context.meter, context.pool);
}

// One after the other: the next comes when the last is accepted.
template <class T>
void SharedFront<T>::ask_for_trial() {
  if (acceptance_.empty() || trial_open_) return;
  while (next_trial_ < panels_ && !helps(next_trial_)) ++next_trial_;
  if (next_trial_ == panels_) return;
  const std::int32_t k = next_trial_++;
  trial_open_ = true;
  Channel::Parts parts{trial_part(trial_in_, k)};
  add_notes(k, parts);
  site_.channel.fetch(owner(k),
                      {.kind = DataRequest::Kind::kTrial, .node = node_, .block = k},
                      parts, [this, k] {
                        const std::scoped_lock lock(mutex_);
                        front().open_trial(k, trial_in_.template as<T>());
                        tasks_->trial_known(k);
                      });
}

template <class T>
std::span<std::byte> SharedFront<T>::trial_part(const PageBuffer& buffer,
                                                std::int32_t panel) const {
  const std::int64_t width = tiles_->panel().width(panel);
  return {buffer.data(), static_cast<std::size_t>(width * width) * sizeof(T)};
}

// The diagonal block, or some own rows, are solved for.
template <class T>
void SharedFront<T>::end_of_trial(const TileTask& task) {
  Acceptance& panel = acceptance_[task.column];
  --panel.groups;
  if (task.kind == Kind::kFactor) {
    front().trial(task.column, trial_out_.template as<T>());
    panel.tried = true;
    answer_waiting();
  }
  if (own(task.column))
    decide(task.column);
  else if (panel.groups == 0)
    ask_for_verdict(task.column);
}

template <class T>
void SharedFront<T>::ask_for_verdict(std::int32_t panel) {
  Acceptance& mine = acceptance_[panel];
  site_.channel.fetch(owner(panel),
                      {.kind = DataRequest::Kind::kVerdict,
                       .node = node_,
                       .block = panel,
                       .first = front().borne(panel)},
                      {std::as_writable_bytes(std::span(mine.verdict))}, [this, panel] {
                        const std::scoped_lock lock(mutex_);
                        put_back(panel);
                      });
}

template <class T>
void SharedFront<T>::hear_of_rows(const DataRequest& request) {
  Acceptance& panel = acceptance_[request.block];
  panel.least = std::min(panel.least, request.first);
  --panel.pending;
  decide(request.block);
}

// All have spoken, and have what they were sent. After a failure nothing is tried again
// where every column is taken: what they hold may be no numbers.
template <class T>
void SharedFront<T>::decide(std::int32_t panel) {
  Acceptance& own = acceptance_[panel];
  if (own.groups > 0 || own.pending > 0 || std::exchange(own.decided, true)) return;
  std::int32_t all = std::min(own.least, front().borne(panel));
  bool more = false;
  if (!may_delay_ && tasks_->stopped())
    all = front().tried(panel);
  else
    more = front().tries_again(panel, all);
  own.verdict = {all, more ? 1 : 0};
  put_back(panel);
}

template <class T>
void SharedFront<T>::put_back(std::int32_t panel) {
  const auto [all, more] = acceptance_[panel].verdict;
  if (all < front().tried(panel))
    return tasks_->spawn({Kind::kPutBack, panel, tasks_->shape().group_of(panel), all});
  front().agree(panel, all, more != 0);
  agreed(panel);
}

// The rows here are as they were before the columns that are not in force.
template <class T>
void SharedFront<T>::agreed(std::int32_t panel) {
  Acceptance& mine = acceptance_[panel];
  const bool more = mine.verdict[1] != 0;
  mine.told = true;
  if (!more)
    tasks_->may_accept(panel);
  else if (own(panel))
    left_ += std::ssize(tiles_->others_in(panel));  // they ask for what was tried again
  answer_waiting();
  if (more && own(panel)) gather_rest(panel);
}

// The columns that are left, of all rows.
template <class T>
void SharedFront<T>::gather_rest(std::int32_t panel) {
  if (rest_users_ > 0) {
    rest_wanted_ = panel;
    return;
  }
  const FrontContext<T>& context = site_.context;
  const std::vector<std::int32_t> others = tiles_->others_in(panel);
  const std::int64_t left = tiles_->panel().width(panel) - acceptance_[panel].verdict[0];
  const Bytes bytes = front().storage().sides * rows_of(others, panel) * left *
                      static_cast<Bytes>(sizeof(T));
  // With delayed columns it is paid for beside the plan, as the panel is.
  rest_ = front().has_delayed() ? PageBuffer(bytes)
                                : PageBuffer(bytes, context.meter, context.pool);
  rest_users_ = acceptance_[panel].missing = static_cast<std::int32_t>(others.size());
  for (const std::int32_t process : others)
    for (const RestTile& tile : rest_tiles(panel, process))
      front().add_rest(panel, tile.rows.begin, tile.rows.end, tile.sides);
  for (const std::int32_t process : others)
    site_.channel.fetch(process,
                        {.kind = DataRequest::Kind::kRest, .node = node_, .block = panel},
                        rest_parts(panel, process), [this, panel] {
                          const std::scoped_lock lock(mutex_);
                          if (--acceptance_[panel].missing == 0)
                            tasks_->may_accept(panel);
                        });
}

// Rows of a panel at some processes.
template <class T>
std::int64_t SharedFront<T>::rows_of(const std::vector<std::int32_t>& processes,
                                     std::int32_t panel) const {
  std::int64_t rows = 0;
  for (const std::int32_t process : processes)
    for (const std::int32_t s : tiles_->strips_in(process, panel))
      rows += tiles_->place(s, panel).rows();
  return rows;
}

// Where a process's tiles are in the memory for the rest: process by process.
template <class T>
auto SharedFront<T>::rest_tiles(std::int32_t panel, std::int32_t process) const
    -> std::vector<RestTile> {
  const std::int64_t left = tiles_->panel().width(panel) - acceptance_[panel].verdict[0];
  T* next = rest_.template as<T>();
  for (const std::int32_t other : tiles_->others_in(panel)) {
    if (other == process) break;
    next += tasks_->front().storage().sides * rows_of({other}, panel) * left;
  }
  std::vector<RestTile> result;
  for (const std::int32_t s : tiles_->strips_in(process, panel)) {
    const TilePlace place = tiles_->place(s, panel);
    RestTile tile{{place.begin, place.end}, {next, next}};
    for (std::int32_t side = 0; side < tasks_->front().storage().sides; ++side) {
      tile.sides[side] = next;
      next += place.rows() * left;
    }
    result.push_back(tile);
  }
  return result;
}

template <class T>
Channel::Parts SharedFront<T>::rest_parts(std::int32_t panel, std::int32_t process) {
  const std::int64_t left = tiles_->panel().width(panel) - acceptance_[panel].verdict[0];
  Channel::Parts parts;
  for (const RestTile& tile : rest_tiles(panel, process))
    for (std::int32_t side = 0; side < front().storage().sides; ++side)
      parts.push_back(std::as_writable_bytes(
          std::span(tile.sides[side],
                    static_cast<std::size_t>((tile.rows.end - tile.rows.begin) * left))));
  return parts;
}

// The same of the own tiles, where they stand.
template <class T>
Channel::Parts SharedFront<T>::own_rest(std::int32_t panel) {
  Channel::Parts parts;
  for (const std::int32_t s : tiles_->strips_in(site_.process, panel)) {
    const BlockTile<T> tile = front().tile(s, panel);
    const std::int64_t from =
        std::int64_t{acceptance_[panel].verdict[0]} * tile.leading();
    for (std::int32_t side = 0; side < front().storage().sides; ++side)
      parts.push_back(std::as_writable_bytes(
          tile.entries(side).subspan(static_cast<std::size_t>(from))));
  }
  return parts;
}

// The own rest is sent: it comes back as it stays.
template <class T>
void SharedFront<T>::fetch_retried(std::int32_t panel) {
  Channel::Parts parts = own_rest(panel);
  add_notes(panel, parts);
  site_.channel.fetch(
      owner(panel), {.kind = DataRequest::Kind::kRetried, .node = node_, .block = panel},
      parts, [this, panel] {
        const std::scoped_lock lock(mutex_);
        tasks_->may_accept(panel);
      });
}

template <class T>
void SharedFront<T>::answer_of_acceptance(const Waiting& waiting) {
  const DataRequest& request = waiting.request;
  const std::int32_t panel = request.block;
  Channel::Parts parts;
  std::function<void()> done;
  if (request.kind == DataRequest::Kind::kTrial) {
    parts.push_back(trial_part(trial_out_, panel));
    done = [this, panel] {
      const std::scoped_lock lock(mutex_);
      --acceptance_[panel].pending;
      decide(panel);
    };
  } else if (request.kind == DataRequest::Kind::kRest) {
    // kAccept is to come, and with it the end of the front.
    return site_.channel.answer(waiting.process, request, own_rest(panel), [this, panel] {
      const std::scoped_lock lock(mutex_);
      fetch_retried(panel);
    });
  } else {
    parts = rest_parts(panel, waiting.process);
    done = [this] {
      const std::scoped_lock lock(mutex_);
      end_of_rest();
    };
  }
  add_notes(panel, parts);
  site_.channel.answer(waiting.process, request, parts, [this, done = std::move(done)] {
    done();
    one_less();
  });
}

template <class T>
void SharedFront<T>::end_of_rest() {
  if (--rest_users_ > 0) return;
  rest_.release();
  if (rest_wanted_ >= 0) gather_rest(std::exchange(rest_wanted_, -1));
}

// The own tiles of a tested panel are final.
template <class T>
void SharedFront<T>::end_of_accept(std::int32_t panel) {
  for (const std::int32_t s : tiles_->strips_in(site_.process, panel))
    tile_final(s, panel);
  if (own(panel) && spread(panel))
    for (const std::int32_t s : tiles_->needed_strips(site_.process, panel))
      if (tile_here_[place(s, panel)] != 0) tile_arrives(s, panel);
  if (helps(panel)) trial_open_ = false;
  answer_waiting();
  ask_for_trial();
  take_panels();
}

// What this process has followed of the slots under the panel.
template <class T>
void SharedFront<T>::pack_tail_rows() {
  if (std::exchange(tail_packed_, true) || own(panels_ - 1)) return;
  const auto ranges = tiles_->tail_rows(site_.process);
  if (ranges.empty()) return;
  TailRows& mine = tail_rows_[site_.process];
  mine = room_for_tail(ranges);
  T* next = mine.values.data();
  for (const auto& [begin, end] : ranges) {
    front().copy_tail_rows(begin, end, next);
    next += tail_entries(end - begin);
  }
  tasks_->release();  // the answer is still to come
  answer_waiting();
}

template <class T>
std::int64_t SharedFront<T>::tail_entries(std::int64_t rows) const {
  return tasks_->front().storage().sides * rows * tasks_->front().slots();
}

template <class T>
auto SharedFront<T>::room_for_tail(const std::vector<IndexRange>& ranges) const
    -> TailRows {
  std::int64_t entries = 0;
  for (const auto& [begin, end] : ranges) entries += tail_entries(end - begin);
  return {tasks_->front().slots(), std::vector<T>(static_cast<std::size_t>(entries))};
}

// Where the last diagonal block is: all rows of the slots, before the tail.
template <class T>
void SharedFront<T>::collect_tail() {
  tail_asked_ = true;
  if (!spread(panels_ - 1)) return;  // it began with the last panel
  const auto others = tiles_->others_in(panels_ - 1);
  tail_left_ = 1;
  for (const std::int32_t process : others) {
    const auto ranges = tiles_->tail_rows(process);
    if (ranges.empty()) continue;
    ++tail_left_;
    TailRows& rows = tail_rows_[process];
    rows = room_for_tail(ranges);
    site_.channel.fetch(
        process, {.kind = DataRequest::Kind::kTailRows, .node = node_},
        {std::as_writable_bytes(std::span(&rows.slots, 1)), writable_bytes(rows.values)},
        [this, process] {
          const std::scoped_lock lock(mutex_);
          tail_came(process);
        });
  }
  if (--tail_left_ == 0) tasks_->may_finish();
}

template <class T>
void SharedFront<T>::tail_came(std::int32_t process) {
  const T* next = tail_rows_[process].values.data();
  for (const auto& [begin, end] : tiles_->tail_rows(process)) {
    if (front().slots() > 0) front().put_tail_rows(begin, end, next);
    next += tail_entries(end - begin);
  }
  tail_rows_.erase(process);
  if (--tail_left_ == 0) tasks_->may_finish();
}

#define ESPALIER_INSTANTIATE(T)                                       \
  template void SharedFront<T>::count_acceptance();                   \
  template void SharedFront<T>::ask_for_trial();                      \
  template void SharedFront<T>::end_of_trial(const TileTask&);        \
  template void SharedFront<T>::hear_of_rows(const DataRequest&);     \
  template void SharedFront<T>::agreed(std::int32_t);                 \
  template void SharedFront<T>::answer_of_acceptance(const Waiting&); \
  template void SharedFront<T>::end_of_accept(std::int32_t);          \
  template void SharedFront<T>::pack_tail_rows();                     \
  template void SharedFront<T>::collect_tail();
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
