// One front and the tasks of its life, which share all of its state: over 300 lines.

#include "solver/distributed/shared_front.h"

#include <algorithm>
#include <utility>

#include "solver/distributed/process_part.h"
#include "solver/front/flush_subnormals.h"
#include "solver/runtime/starpu_tasks.h"

namespace espalier::solver {
namespace {

// Address space for the whole front; memory comes with what is here.
template <class T>
Front<T> open_front(const FrontContext<T>& context, const FrontDistribution& distribution,
                    std::int32_t process, std::int32_t node) {
  const AssemblyTree& tree = context.tree;
  const std::int32_t front = tree.nodes[node].last_front;
  const auto reserve = [&](const Trapezoid& layout) {
    return PageBuffer::reserve(tree.sides() * layout.entries() * tree.entry_bytes,
                               context.meter, context.pool);
  };
  context.factor.storage[node] = reserve(tree.panel(context.symbolic, front));
  context.contributions[node] = reserve(tree.contribution(context.symbolic, front));
  for (auto c = tree.first_child[front]; c >= 0; c = tree.next_sibling[c]) {
    const std::int32_t child = tree.node_of_front[c];
    PageBuffer& block = context.contributions[child];
    if (!distribution.takes_part(child, process))
      block = reserve(tree.contribution(context.symbolic, c));
    else if (block.size() == 0)  // not computed, after a pivot that was not positive
      block =
          PageBuffer(tree.nodes[child].contribution_bytes, context.meter, context.pool);
  }
  return Front<T>(context, front, context.factor.storage[node].template as<T>(),
                  context.contributions[node].template as<T>());
}

template <class T>
typename BlockAssembly<T>::Held held_here(const FrontContext<T>& context,
                                          const FrontDistribution& distribution,
                                          std::int32_t process, std::int32_t front) {
  typename BlockAssembly<T>::Held held;
  const AssemblyTree& tree = context.tree;
  for (auto c = tree.first_child[front]; c >= 0; c = tree.next_sibling[c])
    held.push_back(held_columns(context.symbolic, tree, distribution, c, process));
  return held;
}

}  // namespace

template <class T>
SharedFront<T>::SharedFront(const Site& site, std::int32_t node,
                            std::function<void(starpu_task*)> submit,
                            std::function<void()> ended)
    : site_(site),
      node_(node),
      front_(open_front(site.context, site.distribution, site.process, node)),
      panels_(front_.panels()),
      blocks_(front_.blocks()),
      assembly_(site.context, front_, 1,
                held_here(site.context, site.distribution, site.process, front_.front())),
      handles_(static_cast<std::size_t>(blocks_), nullptr),
      submit_(std::move(submit)),
      ended_(std::move(ended)),
      block_left_(static_cast<std::size_t>(blocks_), 0),
      panel_here_(static_cast<std::size_t>(panels_), 0),
      step_left_(static_cast<std::size_t>(panels_), 0) {
  for (std::int32_t b = 0; b < blocks_; ++b) {
    if (!own(b)) continue;
    own_.push_back(b);
    block_left_[b] = 1;
    starpu_void_data_register(&handles_[b]);
  }
  for (const FrontPiece& piece :
       front_pieces(site.context.symbolic, site.context.tree, site.distribution, node)) {
    if (piece.to == site.process) incoming_.push_back(piece);
    if (piece.to == site.process || piece.from == site.process)
      ++block_left_[piece.block];
  }
  piece_here_.resize(incoming_.size(), 0);
  count_work();
}

// All tasks, and all answers that others will ask for.
template <class T>
void SharedFront<T>::count_work() {
  const WorkerRange group = site_.distribution.group[node_];
  std::vector<std::int32_t> last(static_cast<std::size_t>(group.count), -1);
  for (std::int32_t b = 0; b < blocks_; ++b)
    last[site_.distribution.owner_of(node_, b) - group.first] = b;
  std::int64_t tasks = 0, answers = 0;
  for (std::int32_t b = 0; b < blocks_; ++b) tasks += block_left_[b];
  for (std::int32_t k = 0; k < panels_; ++k) {
    for (const std::int32_t b : own_) step_left_[k] += b > k;
    if (!own(k)) {
      tasks += step_left_[k];
      continue;
    }
    ++step_left_[k];
    tasks += step_left_[k];
    for (std::int32_t p = 0; p < group.count; ++p)
      answers += group.first + p != site_.process && last[p] > k;
  }
  left_ += tasks + answers;
  const TaskId task = task_id(static_cast<std::size_t>(node_));
  work_each_ = site_.context.tree.tasks.work(task) /
               static_cast<double>(std::max<std::int64_t>(1, tasks));
}

template <class T>
void SharedFront<T>::run() {
  {
    const std::scoped_lock lock(mutex_);
    for (std::int32_t b = 0; b < blocks_; ++b)
      if (block_left_[b] == 0) assembly_.finish(b);
    advance();
  }
  one_less();
}

template <class T>
void SharedFront<T>::one_less() {
  std::function<void()> ended;
  {
    const std::scoped_lock lock(mutex_);
    if (--left_ > 0) return;
    drain_others();
    ended = std::move(ended_);
  }
  ended();
}

template <class T>
void SharedFront<T>::advance() {
  begin_blocks();
  fetch_pieces();
  if (assembly_.finished() < blocks_) return;
  begin_steps();
  fetch_panels();
}

template <class T>
void SharedFront<T>::begin_blocks() {
  const std::int32_t window = site_.context.tree.window;
  const auto count = static_cast<std::int32_t>(own_.size());
  while (next_own_ < count &&
         (next_own_ < window || assembly_.finished() > own_[next_own_ - window]))
    submit_work(Kind::kAssemble, own_[next_own_++], 0);
}

// Pieces of blocks that have begun.
template <class T>
void SharedFront<T>::fetch_pieces() {
  while (pieces_under_way_ < SharedFrontRules::kPieces &&
         next_piece_ < incoming_.size() && next_own_ > 0 &&
         incoming_[next_piece_].block <= own_[next_own_ - 1]) {
    const auto number = static_cast<std::int32_t>(next_piece_++);
    const FrontPiece& piece = incoming_[number];
    ++pieces_under_way_;
    const typename BlockAssembly<T>::Columns columns{piece.child, piece.first,
                                                     piece.last};
    assembly_.receive(columns);
    site_.channel.fetch(piece.from,
                        {.kind = DataRequest::Kind::kPiece,
                         .node = node_,
                         .block = piece.block,
                         .child = piece.child,
                         .first = piece.first,
                         .last = piece.last},
                        piece_parts(columns), [this, number] { piece_arrived(number); });
  }
}

template <class T>
void SharedFront<T>::begin_steps() {
  while (next_step_ < panels_ && steps_under_way_ < SharedFrontRules::kSteps) {
    if (step_left_[next_step_] > 0) {
      if (!own(next_step_) && panel_here_[next_step_] == 0) return;
      submit_step(next_step_);
    }
    ++next_step_;
  }
}

template <class T>
void SharedFront<T>::fetch_panels() {
  while (next_panel_ < panels_ && panels_here_ < SharedFrontRules::kPanels) {
    const std::int32_t k = next_panel_++;
    if (own(k) || step_left_[k] == 0) continue;
    ++panels_here_;
    panel_memory(k, true);
    site_.channel.fetch(site_.distribution.owner_of(node_, k),
                        {.kind = DataRequest::Kind::kPanel, .node = node_, .block = k},
                        panel_parts(k), [this, k] { panel_arrived(k); });
  }
}

// From the channel's thread. Pieces are added in their own order, not in that of arrival.
template <class T>
void SharedFront<T>::piece_arrived(std::int32_t number) {
  const std::scoped_lock lock(mutex_);
  piece_here_[number] = 1;
  for (; next_added_ < incoming_.size() && piece_here_[next_added_] != 0; ++next_added_)
    submit_work(Kind::kAdd, incoming_[next_added_].block,
                static_cast<std::int32_t>(next_added_));
}

template <class T>
void SharedFront<T>::panel_arrived(std::int32_t number) {
  const std::scoped_lock lock(mutex_);
  panel_here_[number] = 1;
  advance();
}

template <class T>
void SharedFront<T>::submit_step(std::int32_t panel) {
  ++steps_under_way_;
  if (own(panel)) submit_work(Kind::kFactor, panel, panel);
  for (const std::int32_t b : own_)
    if (b > panel) submit_work(Kind::kUpdate, b, panel);
}

template <class T>
void SharedFront<T>::submit_work(Kind kind, std::int32_t target, std::int32_t source) {
  static starpu_codelet codelets[] = {
      make_codelet(run_work, "assemble", STARPU_VARIABLE_NBUFFERS),
      make_codelet(run_work, "add", STARPU_VARIABLE_NBUFFERS),
      make_codelet(run_work, "factor", STARPU_VARIABLE_NBUFFERS),
      make_codelet(run_work, "update", STARPU_VARIABLE_NBUFFERS)};
  starpu_task* const task = starpu_task_create();
  task->cl = &codelets[static_cast<int>(kind)];
  task->cl_arg = new Work{this, kind, target, source};
  const auto access = [&](std::int32_t block, starpu_data_access_mode mode) {
    task->handles[task->nbuffers] = handles_[block];
    task->modes[task->nbuffers++] = mode;
  };
  if (kind == Kind::kUpdate && own(source)) access(source, STARPU_R);
  access(target, STARPU_RW);
  task->priority = block_priority(blocks_ - target, kind == Kind::kUpdate);
  submit_(task);
}

template <class T>
void SharedFront<T>::run_work(void* /*buffers*/[], void* argument) noexcept {
  const auto* const work = static_cast<const Work*>(argument);
  SharedFront& front = *work->front;
  try {
    // Memory is taken and given back also when nothing is to be computed any more.
    if (!front.site_.context.log.failed() || work->kind == Kind::kAssemble ||
        work->kind == Kind::kAdd)
      front.compute(*work);
    front.end_of(*work);
  } catch (...) {
    front.site_.context.stop();
  }
  if (front.site_.context.done != nullptr)
    front.site_.context.done->fetch_add(front.work_each_);
  delete work;
  front.one_less();
}

template <class T>
void SharedFront<T>::compute(const Work& work) {
  const FlushSubnormals flush;
  switch (work.kind) {
    case Kind::kAssemble:
      return assembly_.assemble(work.target);
    case Kind::kAdd: {
      const FrontPiece& piece = incoming_[work.source];
      return assembly_.add({piece.child, piece.first, piece.last});
    }
    case Kind::kFactor:
      if (!front_.factor(work.target)) site_.pivot_failed();
      return;
    case Kind::kUpdate:
      return front_.update(work.target, work.source);
  }
}

template <class T>
void SharedFront<T>::end_of(const Work& work) {
  const std::scoped_lock lock(mutex_);
  switch (work.kind) {
    case Kind::kAdd:
      --pieces_under_way_;
      [[fallthrough]];
    case Kind::kAssemble:
      return end_of_block(work.target);
    case Kind::kFactor: {
      panel_here_[work.target] = 1;
      std::vector<Waiting> waiting;
      std::swap(waiting, waiting_);
      for (const Waiting& one : waiting) {
        if (one.request.block == work.target)
          answer_panel(one);
        else
          waiting_.push_back(one);
      }
      [[fallthrough]];
    }
    case Kind::kUpdate:
      return end_of_step(work.source);
  }
}

// A part of the assembly of a block is done, or was sent.
template <class T>
void SharedFront<T>::end_of_block(std::int32_t block) {
  if (--block_left_[block] == 0) assembly_.finish(block);
  advance();
}

template <class T>
void SharedFront<T>::end_of_step(std::int32_t panel) {
  if (--step_left_[panel] > 0) return;
  --steps_under_way_;
  if (!own(panel)) {
    panel_memory(panel, false);
    --panels_here_;
  }
  advance();
}

template <class T>
void SharedFront<T>::serve(std::int32_t from, const DataRequest& request) {
  const std::scoped_lock lock(mutex_);
  const Waiting waiting{from, request};
  if (request.kind == DataRequest::Kind::kPiece)
    answer_piece(waiting);
  else if (panel_here_[request.block] != 0)
    answer_panel(waiting);
  else
    waiting_.push_back(waiting);
}

template <class T>
void SharedFront<T>::answer_panel(const Waiting& waiting) {
  site_.channel.answer(waiting.process, waiting.request,
                       panel_parts(waiting.request.block), [this] { one_less(); });
}

template <class T>
void SharedFront<T>::answer_piece(const Waiting& waiting) {
  const DataRequest& request = waiting.request;
  site_.channel.answer(waiting.process, request,
                       piece_parts({request.child, request.first, request.last}),
                       [this, block = request.block] {
                         {
                           const std::scoped_lock lock(mutex_);
                           end_of_block(block);
                         }
                         one_less();
                       });
}

template <class T>
Channel::Parts SharedFront<T>::piece_parts(
    const typename BlockAssembly<T>::Columns& columns) {
  Channel::Parts parts;
  for (std::int32_t side = 0; side < front_.storage().sides; ++side)
    parts.push_back(assembly_.memory(columns, side));
  return parts;
}

// A factored block column: both sides, and D.
template <class T>
Channel::Parts SharedFront<T>::panel_parts(std::int32_t block) {
  const BlockColumn<T> column = block_column(front_.storage(), block);
  Channel::Parts parts;
  for (std::int32_t side = 0; side < front_.storage().sides; ++side)
    parts.push_back(std::as_writable_bytes(column.entries(side)));
  if (site_.context.tree.kind == FactorKind::kLdlt) {
    const std::int32_t first =
        site_.context.symbolic.first_column[front_.front()] + column.first;
    parts.push_back(
        std::as_writable_bytes(std::span(site_.context.factor.d)
                                   .subspan(2 * static_cast<std::size_t>(first),
                                            2 * static_cast<std::size_t>(column.width))));
  }
  return parts;
}

template <class T>
void SharedFront<T>::panel_memory(std::int32_t block, bool take) {
  const BlockColumn<T> column = block_column(front_.storage(), block);
  PageBuffer& buffer = site_.context.factor.storage[node_];
  for (std::int32_t side = 0; side < front_.storage().sides; ++side) {
    const auto place = std::as_bytes(column.entries(side));
    take ? buffer.fill(place) : buffer.drain(place);
  }
}

// What blocks of others have left between own ones and behind them.
template <class T>
void SharedFront<T>::drain_others() {
  PageBuffer& buffer = site_.context.factor.storage[node_];
  Bytes end = 0;  // of the own block before
  for (std::int32_t side = 0; side < front_.storage().sides; ++side)
    for (const std::int32_t b : own_) {
      if (b >= panels_) continue;
      const auto place = std::as_bytes(block_column(front_.storage(), b).entries(side));
      const Bytes begin = place.data() - buffer.data();
      buffer.drain(end, begin);
      end = begin + std::ssize(place);
    }
  buffer.drain(end, buffer.size());
  for (const std::int32_t b : own_) starpu_data_unregister_submit(handles_[b]);
}

template class SharedFront<float>;
template class SharedFront<double>;

}  // namespace espalier::solver
