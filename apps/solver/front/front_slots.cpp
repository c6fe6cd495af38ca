// The columns of a front that found no pivot: what they take along, and how a parent
// takes them in.

#include <algorithm>

#include "solver/front/front.h"
#include "solver/kernels/update.h"
#include "solver/tree/delayed_panel.h"

namespace espalier::solver {

// @param planned  where the panel would be
template <class T>
void Front<T>::open_delays(const T* planned) {
  const Symbolic& symbolic = context_.symbolic;
  auto& own = context_.factor.delays[front_];
  own = std::make_unique<FrontDelays<T>>();
  own->delayed_in = delayed_in_;
  const AssemblyTree& tree = context_.tree;
  for (auto c = tree.first_child[front_]; c >= 0; c = tree.next_sibling[c]) {
    const FrontDelays<T>* const child = context_.delays_of_child(c);
    own->from_child.push_back(context_.delayed_by(c));
    if (child == nullptr) continue;
    for (std::int32_t k = child->tail_eliminated; k < child->slots(); ++k) {
      own->rows_in.push_back(child->row_id(symbolic, c, k));
      own->columns_in.push_back(child->column_id(symbolic, c, k));
    }
  }
  const std::int32_t columns = symbolic.pivots(front_) + delayed_in_;
  const Trapezoid layout = context_.factor.panel(symbolic, tree, front_);
  own->row_order.resize(columns);
  if (kind() == FactorKind::kLu) own->column_order.resize(columns);
  if (kind() == FactorKind::kLdlt) own->d.resize(2 * std::int64_t{columns});
  for (std::int32_t k = 0; k < layout.blocks(); ++k)
    own->eliminated.push_back(layout.width(k));
  const Bytes bytes = tree.sides() * layout.entries() * static_cast<Bytes>(sizeof(T));
  const std::int32_t node = tree.node_of_front[front_];
  if (tree.nodes[node].shared || tree.nodes[node].tiled) {
    // Memory comes with the slices of BlockAssembly, which lets the planned panel go.
    own->panel = PageBuffer::reserve(bytes, nullptr, context_.pool);
    return;
  }
  if (gives_way(tree, front_, context_.pool != nullptr)) {
    PageBuffer& storage = context_.factor.storage[node];
    const auto* const begin = reinterpret_cast<const std::byte*>(planned);
    const std::int64_t entries = tree.panel_entries(symbolic, front_);
    storage.drain({begin, static_cast<std::size_t>(entries) * sizeof(T)});
  }
  own->panel = PageBuffer(bytes, nullptr, context_.pool);
}

template <class T>
void Front<T>::add_delayed(std::int32_t child, std::span<const std::int32_t> positions,
                           std::int32_t begin, std::int32_t end) {
  const FrontDelays<T>* const from = context_.delays_of_child(child);
  if (from == nullptr) return;
  std::int32_t place = context_.symbolic.pivots(front_);
  for (auto c = context_.tree.first_child[front_]; c != child;
       c = context_.tree.next_sibling[c])
    place += context_.delayed_by(c);
  const std::int32_t slots = from->slots(), first = from->tail_eliminated;
  const std::int64_t leading = slots + static_cast<std::int64_t>(positions.size());
  for (std::int32_t j = first; j < slots; ++j) {
    const std::int32_t column = place + j - first;
    const T* const lower = from->tail[0].data() + j * leading;
    const std::int32_t top = kind() == FactorKind::kLu ? first : j;
    for (std::int32_t i = top; i < slots; ++i)
      add_entry(place + i - first, column, lower[i], begin, end);
    for (std::size_t i = 0; i < positions.size(); ++i)
      add_entry(positions[i], column, lower[slots + i], begin, end);
    if (kind() != FactorKind::kLu) continue;
    const T* const upper = from->tail[1].data() + j * leading;
    for (std::size_t i = 0; i < positions.size(); ++i)
      add_entry(column, positions[i], upper[slots + i], begin, end);
  }
}

// Adds the entry (i, j) of the front if it is stored in the columns [begin, end).
template <class T>
void Front<T>::add_entry(std::int32_t i, std::int32_t j, T value, std::int32_t begin,
                         std::int32_t end) {
  const std::int32_t side = i < j && storage_.sides == 2 ? 1 : 0;
  if (i < j) {
    std::swap(i, j);
    value = across(value);
  }
  if (j < begin || j >= end) return;
  if (storage_.strips.empty()) {
    storage_.column(side, j)[i] += value;
    return;
  }
  const std::int32_t block = block_of(j);
  if (!has(strip_of_row(storage_.strips, i), block)) return;
  const BlockTile<T> tile = block_tile(storage_, block, i);
  tile.row(side, i)[(j - first_row(block)) * std::int64_t{tile.leading()}] += value;
}

template <class T>
auto Front<T>::slots_beside(const BlockColumn<T>& column) const -> Slots {
  Slots slots;
  const FrontDelays<T>* const own = delays();
  if (own == nullptr || own->slots() == 0) return slots;
  slots.count = own->slots();
  const std::int64_t order = pivots() + contribution_rows();
  for (std::int32_t side = 0; side < storage_.sides; ++side) {
    // passed[1] holds rows of the slots, which are rows of L (LU).
    std::vector<T>& rows = slots.rows[storage_.sides - 1 - side];
    rows.resize(std::int64_t{slots.count} * column.width);
    for (std::int32_t s = 0; s < slots.count; ++s)
      for (std::int32_t k = 0; k < column.width; ++k)
        rows[s + std::int64_t{k} * slots.count] =
            across(own->passed[side][s * order + column.first + k]);
  }
  return slots;
}

// The columns eliminated in a block, applied to the slots that left earlier ones.
template <class T>
void Front<T>::pass_on(std::int32_t block, const BlockColumn<T>& column,
                       std::int32_t eliminated, const Slots& slots) {
  FrontDelays<T>& own = *delays();
  const std::int64_t order = pivots() + contribution_rows();
  const std::int32_t count = slots.count;
  std::vector<T> scaled;  // rows of L, times D
  if (kind() == FactorKind::kLdlt) {
    scaled.resize(std::int64_t{count} * eliminated);
    kernels::multiply_by_d(count, eliminated, slots.rows[0].data(), count,
                           d_ + 2 * std::int64_t{column.first}, scaled.data(), count);
  }
  const T* const left = slots.rows[0].data();
  const T* const right =
      kind() == FactorKind::kLdlt ? scaled.data() : slots.rows[1].data();
  for (std::int32_t side = 0; side < storage_.sides; ++side) {
    std::vector<T>& passed = own.passed[side];
    const std::vector<T>& rows = slots.rows[storage_.sides - 1 - side];
    for (std::int32_t s = 0; s < count; ++s)
      for (std::int32_t k = 0; k < column.width; ++k)
        passed[s * order + column.first + k] = across(rows[s + std::int64_t{k} * count]);
    // By blocks and groups of rows, as processes that share the front have them: the
    // same bits.
    for (const auto& [begin, end] : followed_after(block)) {
      const BlockTile<T> tile = block_tile(storage_, block, begin);
      kernels::update_general(end - begin, count, eliminated, tile.row(side, begin),
                              tile.leading(), side == 0 ? right : left, count,
                              passed.data() + begin, static_cast<std::int32_t>(order));
    }
  }
  if (follows_tail())
    kernels::update_general(count, count, eliminated, left, count, right, count,
                            corner_.data(), count);
}

// Rows behind a block column in which slots are followed here: those of later blocks of
// the panel, and of groups of rows under it.
template <class T>
std::vector<IndexRange> Front<T>::followed_after(std::int32_t block) const {
  const Trapezoid& layout = storage_.panel_layout;
  std::vector<IndexRange> rows;
  for (std::int32_t j = block + 1; j < layout.blocks(); ++j)
    if (follows(j)) rows.push_back({layout.first(j), layout.first(j) + layout.width(j)});
  const std::int32_t last = panels() - 1;
  for (const IndexRange& group : row_groups(pivots(), order()))
    if (has(storage_.strips.empty() ? 0 : strip_of_row(storage_.strips, group.begin),
            last))
      rows.push_back(group);
  return rows;
}

// The columns of a block that were not eliminated become slots.
template <class T>
void Front<T>::leave_slots(std::int32_t block, const BlockColumn<T>& column,
                           std::int32_t eliminated, const Slots& before) {
  auto& own = context_.factor.delays[front_];
  if (own == nullptr) {
    own = std::make_unique<FrontDelays<T>>();
    for (std::int32_t k = 0; k < panels(); ++k)
      own->eliminated.push_back(storage_.panel_layout.width(k));
  }
  const std::int32_t old = own->slots(), more = column.width - eliminated;
  const std::int64_t after = old + more, order = pivots() + contribution_rows();
  if (follows_tail()) grow_corner(column, eliminated, before);
  for (std::int32_t side = 0; side < storage_.sides; ++side) {
    own->passed[side].resize(order * after);
    for (const auto& [begin, end] : followed_after(block)) {
      const BlockTile<T> tile = block_tile(storage_, block, begin);
      for (std::int32_t t = 0; t < more; ++t) {
        const T* const source =
            tile.row(side, begin) + (eliminated + t) * std::int64_t{tile.leading()};
        std::copy(source, source + (end - begin),
                  own->passed[side].data() + (old + t) * order + begin);
      }
    }
  }
  for (std::int32_t k = eliminated; k < column.width; ++k) {
    own->slot_row.push_back(column.first + row_order_[column.first + k]);
    own->slot_column.push_back(column.first + (kind() == FactorKind::kLu
                                                   ? column_order_
                                                   : row_order_)[column.first + k]);
  }
}

// What the columns of a block that were not eliminated have in its own rows.
template <class T>
std::vector<T> Front<T>::corner_of(const BlockColumn<T>& column,
                                   std::int32_t eliminated) const {
  const std::int32_t more = column.width - eliminated;
  std::vector<T> corner(static_cast<std::size_t>(more) * more);
  for (std::int32_t t = 0; t < more; ++t)
    for (std::int32_t u = 0; u < more; ++u) {
      const std::int64_t k = eliminated + t, l = eliminated + u;
      const bool stored = storage_.sides == 2 || l >= k;
      corner[u + static_cast<std::size_t>(t) * more] =
          stored ? column.data[0][l + k * column.leading]
                 : across(column.data[0][k + l * column.leading]);
    }
  return corner;
}

// The slots among themselves, with those of a block: where the tail is going to be.
template <class T>
void Front<T>::grow_corner(const BlockColumn<T>& column, std::int32_t eliminated,
                           const Slots& before) {
  const std::int32_t old = before.count, more = column.width - eliminated;
  const std::int64_t after = old + more;
  std::vector<T> corner(after * after);
  for (std::int32_t j = 0; j < old; ++j)
    std::copy_n(corner_.data() + std::int64_t{j} * old, old, corner.data() + j * after);
  const std::vector<T> own =
      before.corner.empty() ? corner_of(column, eliminated) : before.corner;
  for (std::int32_t t = 0; t < more; ++t) {
    const std::int64_t k = eliminated + t;
    for (std::int32_t s = 0; s < old; ++s) {
      corner[s + (old + t) * after] = before.rows[0][s + k * old];
      corner[old + t + s * after] = across(before.right()[s + k * old]);
    }
    std::copy_n(own.data() + std::int64_t{t} * more, more,
                corner.data() + old + (old + t) * after);
  }
  corner_ = std::move(corner);
}

#define ESPALIER_INSTANTIATE(T)                                                          \
  template void Front<T>::open_delays(const T*);                                         \
  template void Front<T>::add_delayed(std::int32_t, std::span<const std::int32_t>,       \
                                      std::int32_t, std::int32_t);                       \
  template auto Front<T>::slots_beside(const BlockColumn<T>&) const->Slots;              \
  template void Front<T>::pass_on(std::int32_t, const BlockColumn<T>&, std::int32_t,     \
                                  const Slots&);                                         \
  template std::vector<T> Front<T>::corner_of(const BlockColumn<T>&, std::int32_t)       \
      const;                                                                             \
  template void Front<T>::leave_slots(std::int32_t, const BlockColumn<T>&, std::int32_t, \
                                      const Slots&);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
