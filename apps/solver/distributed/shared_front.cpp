// One front and the messages of its life, which share all of its state: over 300 lines.

#include "solver/distributed/shared_front.h"

#include <algorithm>
#include <utility>

#include "solver/distributed/process_part.h"

namespace espalier::solver {

using Kind = TileTask::Kind;

template <class T>
SharedFront<T>::SharedFront(const Site& site, std::int32_t node,
                            std::function<void(starpu_task*)> submit,
                            std::function<void()> ended)
    : site_(site),
      node_(node),
      front_(site.context.tree.nodes[node].last_front),
      may_delay_(site.context.tree.kind != FactorKind::kCholesky &&
                 site.context.pivoting.delay_reserve > 0),
      submit_(std::move(submit)),
      ended_(std::move(ended)) {
  const AssemblyTree& tree = site.context.tree;
  for (auto c = tree.first_child[front_]; c >= 0; c = tree.next_sibling[c])
    children_.push_back(c);
  if (may_delay_) count_delays();
}

template <class T>
void SharedFront<T>::run() {
  if (may_delay_) fetch_delays();
  one_less_to_fetch();
}

// Nothing more is to come before the front is opened.
template <class T>
void SharedFront<T>::begin() {
  std::vector<Waiting> waiting;
  {
    const std::scoped_lock lock(mutex_);
    open_buffers();
    list_pieces();
    count_work();
    waiting = std::exchange(waiting_, {});
  }
  for (const Waiting& one : waiting) serve(one.process, one.request);
  ++left_;
  tasks_->submit(submit_, [this] { one_less(); });
  {
    const std::scoped_lock lock(mutex_);
    for (std::int32_t b = 0; b < blocks_; ++b)
      if (block_left_[b] == 0) tasks_->assembly().finish(b);
    advance();
    take_panels();
  }
  one_less();
}

// Address space for the whole front; memory comes with what is here.
template <class T>
void SharedFront<T>::open_buffers() {
  const FrontContext<T>& context = site_.context;
  const AssemblyTree& tree = context.tree;
  const auto reserve = [&](const Trapezoid& layout) {
    return PageBuffer::reserve(tree.sides() * layout.entries() * tree.entry_bytes,
                               context.meter, context.pool);
  };
  const Trapezoid panel = tree.panel(context.symbolic, front_);
  context.factor.storage[node_] = reserve(panel);
  context.contributions[node_] = reserve(tree.contribution(context.symbolic, front_));
  std::int32_t delayed = 0;
  for (const std::int32_t c : children_) {
    const std::int32_t child = tree.node_of_front[c];
    delayed += context.delayed_by(c);
    PageBuffer& block = context.contributions[child];
    if (!site_.distribution.takes_part(child, site_.process))
      block = reserve(tree.contribution(context.symbolic, c));
    else if (block.size() == 0)  // not computed, after a pivot that was not positive
      block =
          PageBuffer(tree.nodes[child].contribution_bytes, context.meter, context.pool);
  }
  planned_ = panel.blocks();
  panels_ = Trapezoid(panel.rows() + delayed, panel.columns() + delayed,
                      tree.block_width[front_])
                .blocks();
  blocks_ = panels_ + tree.contribution(context.symbolic, front_).blocks();
  std::vector<std::int8_t> mine;
  for (std::int32_t b = 0; b < blocks_; ++b) {
    mine.push_back(own(b) ? 1 : 0);
    if (own(b)) own_.push_back(b);
  }
  tasks_.emplace(context, node_, mine, *this);
}

template <class T>
void SharedFront<T>::list_pieces() {
  const FrontContext<T>& context = site_.context;
  assembly_.resize(static_cast<std::size_t>(blocks_));
  block_left_.resize(static_cast<std::size_t>(blocks_), 0);
  for (const std::int32_t b : own_) block_left_[b] = 1;
  for (const FrontPiece& piece :
       front_pieces(context.symbolic, context.tree, site_.distribution, node_,
                    front().order() - context.symbolic.front_order(front_))) {
    const bool here = piece.from == site_.process;
    if (piece.to != site_.process && !here) continue;
    ++block_left_[piece.block];
    if (piece.to != site_.process) {
      ++left_;  // an answer
      continue;
    }
    assembly_[piece.block].pieces.push_back(static_cast<std::int32_t>(pieces_.size()));
    pieces_.push_back(piece);
    piece_here_.push_back(here ? 1 : 0);
  }
}

// Updates of own tiles by each panel, and the panels that others will ask for.
template <class T>
void SharedFront<T>::count_work() {
  const TileShape& shape = tasks_->shape();
  last_.assign(static_cast<std::size_t>(group().count), -1);
  for (std::int32_t b = 0; b < blocks_; ++b) last_[owner(b) - group().first] = b;
  panel_here_.resize(static_cast<std::size_t>(panels_), 0);
  updates_left_.resize(static_cast<std::size_t>(panels_), 0);
  for (std::int32_t k = 0; k < panels_; ++k) {
    for (const std::int32_t b : own_)
      if (b > k) updates_left_[k] += shape.groups() - shape.group_of(b);
    if (own(k)) left_ += clients(k);
  }
}

// Other processes that need a panel: those with a later block.
template <class T>
std::int32_t SharedFront<T>::clients(std::int32_t panel) const {
  std::int32_t count = 0;
  for (std::int32_t p = 0; p < group().count; ++p)
    count += group().first + p != site_.process && last_[p] > panel ? 1 : 0;
  return count;
}

template <class T>
void SharedFront<T>::one_less() {
  if (--left_ > 0) return;
  std::function<void()> ended;
  {
    const std::scoped_lock lock(mutex_);
    close();
    ended = std::move(ended_);
  }
  ended();
}

template <class T>
void SharedFront<T>::advance() {
  begin_blocks();
  fetch_pieces();
  if (tasks_->assembly().finished() == blocks_) fetch_panels();
}

template <class T>
void SharedFront<T>::begin_blocks() {
  const std::int32_t window = site_.context.tree.window;
  const auto count = static_cast<std::int32_t>(own_.size());
  while (next_own_ < count && (next_own_ < window || tasks_->assembly().finished() >
                                                         own_[next_own_ - window])) {
    const std::int32_t block = own_[next_own_++];
    assembly_[block].begun = assembly_[block].busy = true;
    tasks_->spawn({Kind::kAssemble, block, 0, block});
  }
}

// The next pieces of a block that are here, if they are the next.
template <class T>
void SharedFront<T>::add_pieces(std::int32_t block) {
  Assembly& own = assembly_[block];
  if (!own.begun || own.busy || own.next == own.pieces.size() ||
      piece_here_[own.pieces[own.next]] == 0)
    return;
  own.busy = true;
  tasks_->spawn({Kind::kAdd, block, 0, 0});
}

// Pieces of blocks that have begun.
template <class T>
void SharedFront<T>::fetch_pieces() {
  while (pieces_under_way_ < SharedFrontRules::kPieces && next_piece_ < pieces_.size() &&
         next_own_ > 0 && pieces_[next_piece_].block <= own_[next_own_ - 1]) {
    const auto number = static_cast<std::int32_t>(next_piece_++);
    const FrontPiece& piece = pieces_[number];
    if (piece.from == site_.process) continue;
    ++pieces_under_way_;
    tasks_->assembly().receive(columns_of(number));
    site_.channel.fetch(piece.from,
                        {.kind = DataRequest::Kind::kPiece,
                         .node = node_,
                         .block = piece.block,
                         .child = piece.child,
                         .first = piece.first,
                         .last = piece.last},
                        piece_parts(columns_of(number)), [this, number] {
                          const std::scoped_lock lock(mutex_);
                          piece_here_[number] = 1;
                          add_pieces(pieces_[number].block);
                        });
  }
}

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
void SharedFront<T>::compute(const TileTask& task) {
  if (task.kind == Kind::kTake) return front().take_panel(task.column);
  if (task.kind == Kind::kAssemble) tasks_->assembly().assemble(task.column);
  std::vector<std::int32_t> ready;
  {
    const std::scoped_lock lock(mutex_);
    Assembly& own = assembly_[task.column];
    for (own.taken = own.next;
         own.taken < own.pieces.size() && piece_here_[own.pieces[own.taken]] != 0;
         ++own.taken)
      ready.push_back(own.pieces[own.taken]);
  }
  for (const std::int32_t number : ready)
    tasks_->assembly().add(columns_of(number), pieces_[number].from != site_.process);
}

template <class T>
void SharedFront<T>::ended(const TileTask& task, bool column_done) {
  if (task.kind == Kind::kFactor && site_.context.log.failed()) site_.pivot_failed();
  const std::scoped_lock lock(mutex_);
  switch (task.kind) {
    case Kind::kAssemble:
    case Kind::kAdd:
      end_of_block(task.column);
      break;
    case Kind::kUpdate:
      if (task.source < panels_) end_of_update(task.source);
      break;
    case Kind::kFinish:
      end_of_pivots();
      break;
    case Kind::kTake:
      taking_ = slots_asked_ = false;
      tasks_->arrived(task.column);
      ++next_take_;
      take_panels();
      break;
    default:
      break;
  }
  if (column_done) end_of_panel(task.column);
}

// A task on the assembly of an own block has ended.
template <class T>
void SharedFront<T>::end_of_block(std::int32_t block) {
  Assembly& own = assembly_[block];
  for (std::size_t i = own.next; i < own.taken; ++i)
    if (pieces_[own.pieces[i]].from != site_.process) --pieces_under_way_;
  own.next = own.taken;
  own.busy = false;
  add_pieces(block);
  if (own.next == own.pieces.size()) {
    tasks_->assembly().finish(block);
    tasks_->assembled(block);
  }
  advance();
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

template <class T>
void SharedFront<T>::serve(std::int32_t from, const DataRequest& request) {
  const std::scoped_lock lock(mutex_);
  if (can_answer(request))
    answer({from, request});
  else
    waiting_.push_back({from, request});
}

template <class T>
bool SharedFront<T>::can_answer(const DataRequest& request) const {
  if (request.kind == DataRequest::Kind::kDelays) return true;
  if (!tasks_) return false;
  switch (request.kind) {
    case DataRequest::Kind::kPanel:
    case DataRequest::Kind::kSlots:
      return panel_here_[request.block] != 0;
    case DataRequest::Kind::kTail:
      return tail_here_;
    default:
      return true;
  }
}

template <class T>
void SharedFront<T>::answer_waiting() {
  for (const Waiting& one : std::exchange(waiting_, {})) {
    if (can_answer(one.request))
      answer(one);
    else
      waiting_.push_back(one);
  }
}

template <class T>
void SharedFront<T>::answer(const Waiting& waiting) {
  if (waiting.request.kind == DataRequest::Kind::kDelays) return answer_delays(waiting);
  if (waiting.request.kind == DataRequest::Kind::kPiece) return answer_piece(waiting);
  site_.channel.answer(waiting.process, waiting.request, parts_of(waiting.request),
                       [this] { one_less(); });
}

template <class T>
void SharedFront<T>::answer_piece(const Waiting& waiting) {
  const DataRequest& request = waiting.request;
  site_.channel.answer(waiting.process, request,
                       piece_parts({request.child, request.first, request.last}),
                       [this, block = request.block] {
                         {
                           const std::scoped_lock lock(mutex_);
                           if (--block_left_[block] == 0)
                             tasks_->assembly().finish(block);
                           advance();
                         }
                         one_less();
                       });
}

template <class T>
Channel::Parts SharedFront<T>::parts_of(const DataRequest& request) {
  if (request.kind == DataRequest::Kind::kSlots) return front().slot_rows(request.block);
  if (request.kind == DataRequest::Kind::kTail) return front().tail();
  return panel_parts(request.block);
}

template <class T>
auto SharedFront<T>::columns_of(std::int32_t piece) const ->
    typename BlockAssembly<T>::Columns {
  return {pieces_[piece].child, pieces_[piece].first, pieces_[piece].last};
}

template <class T>
Channel::Parts SharedFront<T>::piece_parts(
    const typename BlockAssembly<T>::Columns& columns) {
  Channel::Parts parts;
  for (std::int32_t side = 0; side < front().storage().sides; ++side)
    parts.push_back(tasks_->assembly().memory(columns, side));
  return parts;
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

// Nobody asks for anything any more.
template <class T>
void SharedFront<T>::close() {
  drain_others();
  if (may_delay_) front().close_exchange(tail_here_);
  if (!site_.context.told.empty())
    for (const std::int32_t c : children_) site_.context.told[c].reset();
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

template class SharedFront<float>;
template class SharedFront<double>;

}  // namespace espalier::solver
