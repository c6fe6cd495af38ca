// The life of a shared front at one process, and what others ask of it.

#include "solver/distributed/shared_front.h"

#include <algorithm>
#include <utility>

#include "solver/distributed/process_part.h"
#include "solver/memory/writable_bytes.h"

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
      in_turn_(may_delay_ || (site.context.tree.kind != FactorKind::kCholesky &&
                              site.distribution.grid_of(node).strips() > 1)),
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

// Nothing more is to come before the front is opened. Others are answered when its tasks
// can be submitted: an answer that has been sent may make some of them ready.
template <class T>
void SharedFront<T>::begin() {
  {
    const std::scoped_lock lock(mutex_);
    open_buffers();
    list_pieces();
    count_work();
  }
  ++left_;
  tasks_->submit(submit_, [this] { one_less(); });
  {
    const std::scoped_lock lock(mutex_);
    for (std::int32_t b = 0; b < blocks_; ++b)
      if (block_left_[b] == 0) tasks_->assembly().finish(b);
    begun_ = true;
    answer_waiting();
    advance();
    ask_for_trial();
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
  tiles_.emplace(context.symbolic, tree, site_.distribution, front_, delayed);
  panels_ = tiles_->panels();
  blocks_ = tiles_->blocks();
  for (std::int32_t b = 0; b < blocks_; ++b)
    if (tiles_->has_any(site_.process, b)) own_.push_back(b);
  if (tiles_->strips() > 1) context.factor.strips.at(front_) = tiles_->strip_rows();
  tasks_.emplace(context, node_, share(), *this);
}

template <class T>
FrontShare<T> SharedFront<T>::share() const {
  FrontShare<T> share{.strips = tiles_->strip_rows(),
                      .mine = {},
                      .child_strips = {},
                      .original = site_.original};
  for (std::int32_t b = 0; b < blocks_; ++b)
    for (std::int32_t s = 0; s < tiles_->strips(); ++s)
      share.mine.push_back(own(s, b) ? 1 : 0);
  const FrontContext<T>& context = site_.context;
  for (const std::int32_t c : children_) {
    const FrontTiles child(context.symbolic, context.tree, site_.distribution, c);
    share.child_strips.push_back(child.strips() > 1 ? child.contribution_strips()
                                                    : std::vector<std::int32_t>());
  }
  return share;
}

// What own tiles use of each panel, and the tiles that others will ask for.
template <class T>
void SharedFront<T>::count_work() {
  const TileShape& shape = tasks_->shape();
  const std::size_t tiles = place(0, panels_);
  tile_here_.resize(tiles, 0);
  tile_left_.resize(tiles, 0);
  uses_left_.resize(static_cast<std::size_t>(panels_), 0);
  for (const std::int32_t b : own_)
    for (std::int32_t row = shape.group_of(b); row < shape.groups(); ++row) {
      const std::int32_t strip = strip_of_group(row);
      if (!own(strip, b)) continue;
      for (std::int32_t k = 0; k < std::min(b, panels_); ++k) ++uses_left_[k];
      if (b >= panels_) continue;
      if (!own(b) && !shape.accepts(b)) ++uses_left_[b];  // it is solved for
      ++tile_left_[place(strip, b)];
    }
  for (std::int32_t k = 0; k < panels_; ++k)
    for (std::int32_t s = tiles_->strip_of(k); s < tiles_->strips(); ++s)
      if (own(s, k)) left_ += tiles_->clients(s, k);
  count_acceptance();
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
void SharedFront<T>::compute(const TileTask& task) {
  if (task.kind == Kind::kTake) return front().take_panel(task.column);
  if (task.kind == Kind::kPutBack)
    return front().agree(task.column, task.source,
                         acceptance_[task.column].verdict[1] != 0);
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
void SharedFront<T>::ended(const TileTask& task) {
  if (task.kind == Kind::kFactor && site_.context.log.failed()) site_.tell_failure();
  const std::scoped_lock lock(mutex_);
  switch (task.kind) {
    case Kind::kAssemble:
    case Kind::kAdd:
      return end_of_block(task.column);
    case Kind::kUpdate:
      if (task.source < panels_) end_of_use(task.source);
      return;
    case Kind::kFactor:
    case Kind::kSolve:
    case Kind::kAccept:
      return end_of_solve(task);
    case Kind::kPutBack:
      return agreed(task.column);
    case Kind::kFinish:
      return end_of_pivots();
    case Kind::kTake:
      taking_ = slots_asked_ = false;
      tasks_->arrived(task.column, 0, front().order());
      ++next_take_;
      take_panels();
  }
}

template <class T>
void SharedFront<T>::serve(std::int32_t from, const DataRequest& request) {
  const std::scoped_lock lock(mutex_);
  if (request.kind == DataRequest::Kind::kVerdict) hear_of_rows(request);
  if (can_answer(request))
    answer({from, request});
  else
    waiting_.push_back({from, request});
}

template <class T>
bool SharedFront<T>::can_answer(const DataRequest& request) const {
  if (request.kind == DataRequest::Kind::kDelays) return true;
  if (!begun_) return false;
  switch (request.kind) {
    case DataRequest::Kind::kPanel:
    case DataRequest::Kind::kSlots:
      return tile_here_[place(request.strip, request.block)] != 0;
    case DataRequest::Kind::kTail:
      return tail_here_;
    case DataRequest::Kind::kTrial:
      return acceptance_[request.block].tried;
    case DataRequest::Kind::kVerdict:
    case DataRequest::Kind::kRest:
      return acceptance_[request.block].told;
    case DataRequest::Kind::kRetried:
      return tile_here_[place(tiles_->strip_of(request.block), request.block)] != 0;
    case DataRequest::Kind::kTailRows:
      return tail_packed_;
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
  if (waiting.request.kind == DataRequest::Kind::kTrial ||
      waiting.request.kind == DataRequest::Kind::kRest ||
      waiting.request.kind == DataRequest::Kind::kRetried)
    return answer_of_acceptance(waiting);
  site_.channel.answer(waiting.process, waiting.request, parts_of(waiting.request),
                       [this] { one_less(); });
}

template <class T>
Channel::Parts SharedFront<T>::parts_of(const DataRequest& request) {
  if (request.kind == DataRequest::Kind::kSlots) return front().slot_rows(request.block);
  if (request.kind == DataRequest::Kind::kTail) return front().tail();
  if (request.kind == DataRequest::Kind::kVerdict)
    return {std::as_writable_bytes(std::span(acceptance_[request.block].verdict))};
  if (request.kind == DataRequest::Kind::kTailRows) {
    TailRows& rows = tail_rows_[site_.process];
    return {std::as_writable_bytes(std::span(&rows.slots, 1)),
            writable_bytes(rows.values)};
  }
  return tile_parts(request.strip, request.block, request.first != 0);
}

// Nobody asks for anything any more.
template <class T>
void SharedFront<T>::close() {
  drain_others();
  if (may_delay_) front().close_exchange(tail_here_);
  if (site_.context.told != nullptr)
    for (const std::int32_t c : children_) site_.context.told->at(c).reset();
}

#define ESPALIER_INSTANTIATE(T) template class SharedFront<T>;
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
