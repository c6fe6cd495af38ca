#include "solver/front/block_assembly.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "solver/tree/extend_add.h"

namespace espalier::solver {

template <class T>
BlockAssembly<T>::BlockAssembly(const FrontContext<T>& context, Front<T>& front,
                                std::int32_t slices)
    : context_(context),
      front_(front),
      node_(context.tree.node_of_front[front.front()]),
      slices_(slices),
      shared_(context.tree.nodes[node_].shared),
      positions_(context.tree.nodes[node_].index_entries *
                     static_cast<Bytes>(sizeof(std::int32_t)),
                 context.meter, context.pool),
      left_{all_of(context.factor.storage[node_], front.storage().panel_layout),
            all_of(context.contributions[node_], front.storage().contribution_layout)},
      finished_(std::size_t(front.blocks()) * slices, 0) {
  // With delayed columns the panel is larger than planned and stands elsewhere.
  if (front.has_delayed()) context.factor.storage[node_].release();
  const AssemblyTree& tree = context.tree;
  auto* positions = positions_.as<std::int32_t>();
  for (auto c = tree.first_child[front.front()]; c >= 0; c = tree.next_sibling[c]) {
    const std::span of_child(positions, context_.symbolic.rows_of(c).size());
    front.child_positions(c, of_child);
    children_.push_back({c, of_child, &context.contributions[tree.node_of_front[c]],
                         front.child_strips(children_.size())});
    positions += of_child.size();
  }
}

template <class T>
void BlockAssembly<T>::assemble(std::int32_t slice) {
  const BlockColumn<T> columns = slice_of(front_.storage(), slice, slices_);
  if (columns.width == 0) return;
  take_memory(slice, columns);
  clear(columns);
  const std::int32_t end = columns.first + columns.width;
  if (slice / slices_ < front_.panels()) front_.add_original(columns.first, end);
  add_children(columns);
}

// Of a shared front what the children delayed, all of which is here.
template <class T>
void BlockAssembly<T>::add_children(const BlockColumn<T>& columns) {
  const std::int32_t end = columns.first + columns.width;
  for (const Child& child : children_) {
    if (!shared_)
      front_.add_child(child.front, nullptr, child.positions, columns.first, end);
    if (front_.has_delayed())
      front_.add_delayed(child.front, child.positions, columns.first, end);
  }
}

template <class T>
TilePlace BlockAssembly<T>::tile_of(const Child& child, const Columns& columns) const {
  const Trapezoid layout = context_.tree.contribution(context_.symbolic, child.front);
  const std::int32_t block = layout.block_of(columns.first);
  if (child.strips.empty()) return tile_place(layout, block, 0, layout.rows());
  return tile_place(layout, block, child.strips[columns.strip],
                    child.strips[columns.strip + 1]);
}

template <class T>
std::span<std::byte> BlockAssembly<T>::memory(const Columns& columns,
                                              std::int32_t side) const {
  const Child& child = children_[columns.child];
  const Trapezoid layout = context_.tree.contribution(context_.symbolic, child.front);
  const auto [begin, end] =
      tile_columns(layout, tile_of(child, columns), columns.first, columns.last);
  return {child.contribution->data() +
              (side * layout.entries() + begin) * static_cast<Bytes>(sizeof(T)),
          static_cast<std::size_t>(end - begin) * sizeof(T)};
}

template <class T>
void BlockAssembly<T>::receive(const Columns& columns) {
  PageBuffer& buffer = *children_[columns.child].contribution;
  const std::scoped_lock lock(mutex_);
  for (std::int32_t side = 0; side < front_.storage().sides; ++side)
    buffer.fill(memory(columns, side));
}

template <class T>
void BlockAssembly<T>::add(const Columns& columns, bool received) {
  const Child& child = children_[columns.child];
  const std::int64_t entries =
      context_.tree.contribution(context_.symbolic, child.front).entries();
  const TilePlace tile = tile_of(child, columns);
  for (std::int32_t side = 0; side < front_.storage().sides; ++side)
    front_.add_tile(child.front, tile, side,
                    child.contribution->template as<T>() + side * entries + tile.offset,
                    child.positions, columns.first, columns.last);
  if (!received) return;
  PageBuffer& buffer = *child.contribution;
  const std::scoped_lock lock(mutex_);
  for (std::int32_t side = 0; side < front_.storage().sides; ++side)
    buffer.drain(memory(columns, side));
}

template <class T>
auto BlockAssembly<T>::all_of(PageBuffer& buffer, const Trapezoid& layout) const -> Left {
  Left left{&buffer, layout.blocks()};
  const Bytes unit = context_.tree.nodes[node_].unit;
  if (unit == 0 || !front_.is_low_rank()) return left;
  const Bytes all = layout.entries() * static_cast<Bytes>(sizeof(T));
  for (Bytes begin = 0; begin < all; begin += unit)
    left.in_unit.push_back(std::min(unit, all - begin));
  return left;
}

template <class T>
void BlockAssembly<T>::put_together(std::int32_t block) {
  const std::scoped_lock together(together_);
  const std::span<const std::byte> part = front_.put_together(block);
  const std::scoped_lock lock(mutex_);
  give_back(left_[block < front_.panels() ? 0 : 1], part);
}

template <class T>
void BlockAssembly<T>::give_back(Left& left, std::span<const std::byte> part) {
  PageBuffer& buffer = *left.buffer;
  if (--left.blocks == 0) return buffer.release();
  if (left.in_unit.empty()) return buffer.drain(part);
  const Bytes unit = context_.tree.nodes[node_].unit;
  const Bytes begin = part.data() - buffer.data(), end = begin + std::ssize(part);
  for (Bytes u = begin / unit; u * unit < end; ++u) {
    Bytes& here = left.in_unit[static_cast<std::size_t>(u)];
    here -= std::min(end, (u + 1) * unit) - std::max(begin, u * unit);
    if (here == 0) buffer.drain(u * unit, std::min(buffer.size(), (u + 1) * unit));
  }
}

template <class T>
std::int32_t BlockAssembly<T>::finished() {
  const std::scoped_lock lock(mutex_);
  return finished_first_;
}

// What memory of any content came with: whoever assembles the columns is the first to use
// it, beside those who assemble others.
template <class T>
void BlockAssembly<T>::clear(const BlockColumn<T>& columns) const {
  for (std::int32_t side = 0; !shared_ && side < front_.storage().sides; ++side)
    std::ranges::fill(columns.entries(side), T{});
}

// Of a shared front, of the tiles that are here.
template <class T>
void BlockAssembly<T>::take_memory(std::int32_t slice, const BlockColumn<T>& columns) {
  const std::int32_t block = slice / slices_;
  const std::scoped_lock lock(mutex_);
  for (std::int32_t side = 0; side < front_.storage().sides; ++side) {
    if (!shared_) take_memory(std::as_bytes(columns.entries(side)));
    for (std::int32_t strip = front_.strip_of(block); shared_ && strip < front_.strips();
         ++strip)
      if (front_.has(strip, block))
        take_memory(std::as_bytes(front_.tile(strip, block).entries(side)));
  }
}

// The pages of a place, in whichever buffer it lies, or the units that hold it.
template <class T>
void BlockAssembly<T>::take_memory(std::span<const std::byte> place) {
  FrontDelays<T>* const delays =
      front_.has_delayed() ? context_.factor.delays_of(front_.front()) : nullptr;
  for (PageBuffer* buffer :
       {&context_.factor.storage[node_], &context_.contributions[node_],
        delays != nullptr ? &delays->panel : nullptr}) {
    if (buffer == nullptr || buffer->size() == 0) continue;
    if (std::less<>{}(place.data(), buffer->data())) continue;
    const Bytes begin = place.data() - buffer->data();
    if (begin >= buffer->size()) continue;
    const auto [from, to] =
        context_.tree.nodes[node_].units_of(begin, begin + std::ssize(place));
    buffer->fill(from, std::min(to, buffer->size()),
                 shared_ ? PageBuffer::Content::kZeros : PageBuffer::Content::kUntouched);
  }
}

// What no slice that is still to be assembled reads of the children goes.
template <class T>
void BlockAssembly<T>::finish(std::int32_t slice) {
  const auto slices = static_cast<std::int32_t>(finished_.size());
  const std::scoped_lock lock(mutex_);
  finished_[slice] = 1;
  const std::int32_t before = finished_first_;
  while (finished_first_ < slices && finished_[finished_first_] != 0) ++finished_first_;
  if (finished_first_ == before) return;
  const bool all = finished_first_ == slices;
  const AssemblyTree& tree = context_.tree;
  if (!all && !tree.nodes[node_].by_blocks) return;
  const std::int32_t next =
      all ? 0 : slice_of(front_.storage(), finished_first_, slices_).first;
  for (const Child& child : children_) {
    if (all)
      context_.release_contribution(child.front);
    else
      drain(child, rows_before(child.positions, next));
  }
  if (all) positions_.release();
}

// Nothing is read of so many columns of a child any more.
template <class T>
void BlockAssembly<T>::drain(const Child& child, std::int32_t used) {
  const AssemblyTree& tree = context_.tree;
  const Trapezoid layout = tree.contribution(context_.symbolic, child.front);
  if (const LowRankPanel* const panel = context_.factor.low_rank_of(child.front);
      panel != nullptr && panel->contribution != nullptr) {
    LowRankPanel& tiles = *panel->contribution;
    for (std::int32_t k = 0; k < layout.blocks() && tiles.last(k) <= used; ++k)
      tiles.together[k].release();
    return;
  }
  std::vector<EntryRange> parts{
      {0, tree.nodes[tree.node_of_front[child.front]].read_before(layout, used)}};
  if (!child.strips.empty()) parts = columns_before(layout, child.strips, used);
  const auto bytes = static_cast<Bytes>(sizeof(T));
  for (std::int32_t side = 0; side < front_.storage().sides; ++side)
    for (const auto& [begin, end] : parts) {
      const Bytes start = side * layout.entries() * bytes;
      child.contribution->drain(start + begin * bytes,
                                start + tree.nodes[node_].units_in(end * bytes));
    }
}

#define ESPALIER_INSTANTIATE(T) template class BlockAssembly<T>;
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
