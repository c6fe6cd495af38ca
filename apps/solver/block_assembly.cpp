#include "solver/block_assembly.h"

#include <algorithm>
#include <functional>

namespace espalier::solver {

template <class T>
BlockAssembly<T>::BlockAssembly(const FrontContext<T>& context, Front<T>& front)
    : context_(context),
      front_(front),
      node_(context.tree.node_of_front[front.front()]),
      positions_(context.tree.nodes[node_].index_entries *
                     static_cast<Bytes>(sizeof(std::int32_t)),
                 context.meter, context.pool),
      assembled_(front.blocks(), 0) {
  // With delayed columns the panel is larger than planned and stands elsewhere.
  if (front.has_delayed()) context.factor.storage[node_].release();
  const AssemblyTree& tree = context.tree;
  auto* positions = positions_.as<std::int32_t>();
  for (auto c = tree.first_child[front.front()]; c >= 0; c = tree.next_sibling[c]) {
    const std::size_t rows = context.symbolic.rows_of(c).size();
    front.child_positions(c, {positions, rows});
    positions += rows;
  }
}

template <class T>
void BlockAssembly<T>::assemble(std::int32_t block) {
  const AssemblyTree& tree = context_.tree;
  const BlockColumn<T> columns = block_column(front_.storage(), block);
  take_memory(columns);
  const std::int32_t end = columns.first + columns.width;
  if (block < front_.panels()) front_.add_original(columns.first, end);
  const auto* positions = positions_.as<const std::int32_t>();
  for (auto c = tree.first_child[front_.front()]; c >= 0; c = tree.next_sibling[c]) {
    const std::span of_child(positions, context_.symbolic.rows_of(c).size());
    front_.add_child(c, nullptr, of_child, columns.first, end);
    if (front_.has_delayed()) front_.add_delayed(c, of_child, columns.first, end);
    positions += of_child.size();
  }
  give_back(block);
}

// The pages of a block, in whichever of the two buffers it lies.
template <class T>
void BlockAssembly<T>::take_memory(const BlockColumn<T>& columns) {
  const std::scoped_lock lock(mutex_);
  for (PageBuffer* buffer :
       {&context_.factor.storage[node_], &context_.contributions[node_]}) {
    for (std::int32_t side = 0; side < front_.storage().sides; ++side) {
      const auto* const data = reinterpret_cast<std::byte*>(columns.data[side]);
      const Bytes begin = data - buffer->data();
      if (std::less<>{}(data, buffer->data()) || begin >= buffer->size()) continue;
      const Bytes bytes = static_cast<Bytes>(sizeof(T)) * columns.leading * columns.width;
      buffer->fill(begin, begin + bytes);
    }
  }
}

// What no block that is still to be assembled reads of the children.
template <class T>
void BlockAssembly<T>::give_back(std::int32_t block) {
  const std::int32_t blocks = front_.blocks();
  const std::scoped_lock lock(mutex_);
  assembled_[block] = 1;
  const std::int32_t before = assembled_first_;
  while (assembled_first_ < blocks && assembled_[assembled_first_] != 0)
    ++assembled_first_;
  if (assembled_first_ == before) return;
  const bool all = assembled_first_ == blocks;
  const AssemblyTree& tree = context_.tree;
  if (!all && !tree.nodes[node_].by_blocks) return;
  const std::int32_t next =
      all ? 0 : block_column(front_.storage(), assembled_first_).first;
  const auto* positions = positions_.as<const std::int32_t>();
  for (auto c = tree.first_child[front_.front()]; c >= 0; c = tree.next_sibling[c]) {
    const std::span of_child(positions, context_.symbolic.rows_of(c).size());
    PageBuffer& buffer = context_.contributions[tree.node_of_front[c]];
    positions += of_child.size();
    if (all) {
      buffer.release();
      continue;
    }
    const Trapezoid layout = tree.contribution(context_.symbolic, c);
    const auto used = static_cast<std::int32_t>(
        std::lower_bound(of_child.begin(), of_child.end(), next) - of_child.begin());
    const auto bytes = static_cast<Bytes>(sizeof(T));
    for (std::int32_t side = 0; side < front_.storage().sides; ++side) {
      const Bytes start = side * layout.entries() * bytes;
      buffer.drain(start, start + layout.entries_before(used) * bytes);
    }
  }
  if (all) positions_.release();
}

template class BlockAssembly<float>;
template class BlockAssembly<double>;

}  // namespace espalier::solver
