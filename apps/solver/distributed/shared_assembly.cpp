// The assembly of a shared front: own tiles, block column after block column, of pieces
// that are here or come from others.

#include "solver/distributed/shared_front.h"

#include "solver/distributed/process_part.h"

namespace espalier::solver {

using Kind = TileTask::Kind;

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
    if (piece.to != site_.process) {
      ++block_left_[piece.block];
      ++left_;  // an answer
      continue;
    }
    assembly_[piece.block].pieces.push_back(static_cast<std::int32_t>(pieces_.size()));
    pieces_.push_back(piece);
    piece_here_.push_back(here ? 1 : 0);
  }
}

template <class T>
void SharedFront<T>::begin_blocks() {
  const std::int32_t window = site_.context.tree.window;
  const std::int32_t round = site_.distribution.grid_columns(node_);
  while (next_own_ < own_.size() &&
         tasks_->assembly().finished() >=
             SharedFrontRules::finished_before(own_, next_own_, window, round)) {
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
                         .strip = piece.strip,
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
    one_less_of(block);
    tasks_->assembled(block);
  }
  advance();
}

// Own tiles of a block are assembled, or a piece of it is sent.
template <class T>
void SharedFront<T>::one_less_of(std::int32_t block) {
  if (--block_left_[block] == 0) tasks_->assembly().finish(block);
}

template <class T>
void SharedFront<T>::answer_piece(const Waiting& waiting) {
  const DataRequest& request = waiting.request;
  site_.channel.answer(
      waiting.process, request,
      piece_parts({request.child, request.strip, request.first, request.last}),
      [this, block = request.block] {
        {
          const std::scoped_lock lock(mutex_);
          one_less_of(block);
          advance();
        }
        one_less();
      });
}

template <class T>
auto SharedFront<T>::columns_of(std::int32_t piece) const ->
    typename BlockAssembly<T>::Columns {
  const FrontPiece& from = pieces_[piece];
  return {from.child, from.strip, from.first, from.last};
}

template <class T>
Channel::Parts SharedFront<T>::piece_parts(
    const typename BlockAssembly<T>::Columns& columns) {
  Channel::Parts parts;
  for (std::int32_t side = 0; side < front().storage().sides; ++side)
    parts.push_back(tasks_->assembly().memory(columns, side));
  return parts;
}

#define ESPALIER_INSTANTIATE(T)                                  \
  template void SharedFront<T>::list_pieces();                   \
  template void SharedFront<T>::begin_blocks();                  \
  template void SharedFront<T>::fetch_pieces();                  \
  template void SharedFront<T>::end_of_block(std::int32_t);      \
  template void SharedFront<T>::answer_piece(const Waiting&);    \
  template auto SharedFront<T>::columns_of(std::int32_t) const-> \
      typename BlockAssembly<T>::Columns;
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
