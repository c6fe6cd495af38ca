// Both sweeps of each kind of factor, written the same way: over 300 lines.

#include "solver/solve/triangular_solve.h"

#include <algorithm>
#include <vector>

#include "solver/kernels/block_solve.h"
#include "solver/kernels/tile_product.h"
#include "solver/solve/cut_products.h"

namespace espalier::solver {

/// A front's part of the vectors while it is solved with.
template <class T>
struct FrontSolve<T>::Local {
  std::int32_t front, count;
  Trapezoid layout;
  std::int32_t order, slots, contribution_width;
  const FrontDelays<T>* delays;   // null: none
  const LowRankPanel* low_rank;   // null: not compressed
  const T* diagonal;              // side 0, with the diagonal blocks
  std::array<const T*, 2> panel;  // rows below: of what is solved first, and second
  const std::int32_t *first_order, *second_order;  // forward's and backward's; null: none
  const T* d;
  T *x, *z, *slot, *tail, *block;  // order, order, slots, slots, width; times count
  std::int64_t z_stride;
  std::int32_t slots_seen;               // left by the blocks before (the present one)
  std::span<const std::int32_t> strips;  // FrontStorage::strips
  TileShape shape;                       // of the front
  RowsBelow<T>* spread = nullptr;        // null: all rows are here

  [[nodiscard]] std::int32_t eliminated(std::int32_t k) const {
    return delays != nullptr ? delays->eliminated[k] : layout.width(k);
  }
  // The rows below block k of panel[side], of the columns that were eliminated.
  [[nodiscard]] PanelPart<T> below(std::int32_t side, std::int32_t k) const {
    const std::int32_t width = layout.width(k), leading = layout.leading(k);
    return {leading - width, eliminated(k), panel[side] + layout.offset(k) + width,
            leading};
  }
  // First row of a block of the front.
  [[nodiscard]] std::int32_t row_of(std::int32_t k) const {
    if (k >= shape.blocks) return order;
    return k < shape.panels ? layout.first(k)
                            : layout.columns() + (k - shape.panels) * contribution_width;
  }
  // Groups of the rows below a block.
  [[nodiscard]] std::vector<IndexRange> groups_below(std::int32_t k) const {
    std::vector<IndexRange> groups;
    std::int32_t begin = row_of(k + 1);
    for (std::int32_t g = shape.group_of(k); g < shape.groups(); ++g) {
      const std::int32_t end = row_of(shape.first_block(g + 1));
      if (begin < end) groups.push_back({begin, end});
      begin = end;
    }
    return groups;
  }
  // Rows of one group in block k.
  [[nodiscard]] PanelRows<T> rows(std::int32_t side, std::int32_t k,
                                  IndexRange group) const {
    IndexRange strip{0, order};
    if (!strips.empty()) {
      const std::int32_t s = strip_of_row(strips, group.begin);
      strip = {strips[s], strips[s + 1]};
    }
    const TilePlace tile = tile_place(layout, k, strip.begin, strip.end);
    return {group.begin, group.end - group.begin,
            panel[side] + tile.offset + (group.begin - tile.begin), tile.rows()};
  }
  // Of all groups below block k.
  [[nodiscard]] std::vector<PanelRows<T>> all_rows(std::int32_t side,
                                                   std::int32_t k) const {
    std::vector<PanelRows<T>> groups;
    for (const IndexRange group : groups_below(k)) groups.push_back(rows(side, k, group));
    return groups;
  }
  // The vectors of a block's own rows: where they stand, if they are in the order of
  // elimination and nobody else needs their places, or else in work space.
  [[nodiscard]] Vectors<T> own(std::int32_t k) const {
    const bool here = first_order == nullptr && spread == nullptr && shape.groups() == 1;
    return here ? Vectors<T>{x + layout.first(k), order, count}
                : Vectors<T>{block, layout.width(k), count};
  }
};

template <class T>
std::int64_t FrontSolve<T>::local_entries() const {
  return local_entries({.first_front = 0, .last_front = view_.symbolic.fronts() - 1});
}

template <class T>
std::int64_t FrontSolve<T>::local_entries(const AssemblyTree::Node& node) const {
  std::int64_t most = 0;
  for (std::int32_t s = node.first_front; s <= node.last_front; ++s) {
    const FrontDelays<T>* const delays = view_.factor.delays_of(s);
    const std::int32_t more = delays != nullptr ? delays->delayed_in : 0;
    most = std::max(most, local_entries(view_.symbolic.front_order(s) + more,
                                        view_.tree.block_width[s],
                                        delays != nullptr ? delays->slots() : 0));
  }
  return most;
}

// How a front is cut.
template <class T>
auto FrontSolve<T>::lay_out(std::int32_t front) const -> Local {
  Local local{};
  local.front = front;
  local.layout = view_.factor.panel(view_.symbolic, view_.tree, front);
  local.order = local.layout.rows();
  local.strips = view_.factor.strips_of(front);
  local.contribution_width = view_.tree.block_width[front];
  const std::int32_t panels = local.layout.blocks();
  const std::int32_t planned = view_.tree.panel(view_.symbolic, front).blocks();
  local.shape =
      tile_shape(view_.tree, front, panels,
                 panels + view_.tree.contribution(view_.symbolic, front).blocks(), false,
                 panels - planned);
  return local;
}

template <class T>
auto FrontSolve<T>::open(std::int32_t front, const T* storage, std::int32_t count) const
    -> Local {
  const Factor<T>& factor = view_.factor;
  const FrontDelays<T>* const delays = factor.delays_of(front);
  const bool moved = delays != nullptr && delays->delayed_in > 0;
  const std::int32_t first = view_.symbolic.first_column[front];
  Local local = lay_out(front);
  local.count = count;
  local.slots = delays != nullptr ? delays->slots() : 0;
  local.delays = delays;
  local.low_rank = factor.low_rank_of(front);
  const bool lu = view_.tree.kind == FactorKind::kLu;
  local.diagonal = factor.panel_data(front, storage);
  local.panel = {local.diagonal, local.diagonal + (lu ? local.layout.entries() : 0)};
  if (transposed_) std::swap(local.panel[0], local.panel[1]);
  if (view_.tree.kind != FactorKind::kCholesky) {
    const std::int32_t* const rows =
        moved ? delays->row_order.data() : factor.row_order.data() + first;
    const std::int32_t* const columns = !lu     ? rows
                                        : moved ? delays->column_order.data()
                                                : factor.column_order.data() + first;
    local.first_order = transposed_ ? columns : rows;
    local.second_order = transposed_ ? rows : columns;
    local.d = lu      ? nullptr
              : moved ? delays->d.data()
                      : factor.d.data() + 2 * std::int64_t{first};
  }
  return local;
}

template <class T>
auto FrontSolve<T>::open(std::int32_t front, const T* storage, std::int32_t count,
                         T* memory) const -> Local {
  Local local = open(front, storage, count);
  const std::int64_t n = count;
  local.x = memory;
  local.z = local.x + n * local.order;
  local.z_stride = local.order;
  local.slot = local.z + n * local.order;
  local.tail = local.slot + n * local.slots;
  local.block = local.tail + n * local.slots;
  return local;
}

template <class T>
void FrontSolve<T>::solve_forward(std::int32_t e, const T* diagonal, std::int32_t width,
                                  std::int32_t leading, const Vectors<T>& x) const {
  const auto ldx = static_cast<std::int32_t>(x.stride);
  const bool upper = view_.tree.kind == FactorKind::kLu && transposed_;
  if (upper)
    kernels::forward_solve_transposed(e, diagonal, leading, x.count, x.data, ldx);
  else
    kernels::forward_solve(view_.tree.kind, e, diagonal, leading, x.count, x.data, ldx);
  if (e == width) return;
  if (upper)
    kernels::apply_below_transposed(e, width - e, diagonal + std::int64_t{e} * leading,
                                    leading, x.count, x.data, ldx, x.data + e, ldx);
  else
    kernels::apply_below(width - e, e, diagonal + e, leading, x.count, x.data, ldx,
                         x.data + e, ldx);
}

template <class T>
void FrontSolve<T>::solve_backward(std::int32_t e, const T* diagonal, std::int32_t width,
                                   std::int32_t leading, const Vectors<T>& x) const {
  const auto ldx = static_cast<std::int32_t>(x.stride);
  const bool lu = view_.tree.kind == FactorKind::kLu;
  if (e < width) {
    if (lu && !transposed_)
      kernels::apply_below(e, width - e, diagonal + std::int64_t{e} * leading, leading,
                           x.count, x.data + e, ldx, x.data, ldx);
    else
      kernels::apply_below_transposed(width - e, e, diagonal + e, leading, x.count,
                                      x.data + e, ldx, x.data, ldx);
  }
  if (lu && transposed_)
    kernels::backward_solve_transposed(e, diagonal, leading, x.count, x.data, ldx);
  else
    kernels::backward_solve(view_.tree.kind, e, diagonal, leading, x.count, x.data, ldx);
}

// What block columns do to the rows below them, and the way back, tile by tile: of real
// entries.
template <class T>
void FrontSolve<T>::apply_tiles(const Local& local, std::int32_t block,
                                const Vectors<T>& x) const {
  const LowRankPanel& panel = *local.low_rank;
  const std::int32_t width = local.layout.width(block);
  const bool large =
      is_worth_tiles(std::int64_t{width} * local.layout.leading(block), local.count);
  run_tiles(large ? tiles_ : nullptr, panel.blocks - block - 1, [&](std::int32_t t) {
    const std::int32_t i = block + 1 + t;
    if constexpr (!kIsComplex<T>)
      kernels::apply_tile(panel.rows(i), width, panel.tile(local.diagonal, i, block),
                          x.count, x.data, static_cast<std::int32_t>(x.stride),
                          local.x + panel.first(i), local.order);
  });
}

template <class T>
void FrontSolve<T>::apply_tiles_transposed(const Local& local, std::int32_t block,
                                           const Vectors<T>& x) {
  const LowRankPanel& panel = *local.low_rank;
  const std::int32_t width = local.layout.width(block);
  for (std::int32_t i = block + 1; i < panel.blocks; ++i)
    if constexpr (!kIsComplex<T>)
      kernels::apply_tile_transposed(panel.rows(i), width,
                                     panel.tile(local.diagonal, i, block), x.count,
                                     local.x + panel.first(i), local.order, x.data,
                                     static_cast<std::int32_t>(x.stride));
}

// What a block column does to the rows below it.
template <class T>
void FrontSolve<T>::apply_rows(const Local& local, std::int32_t block,
                               const Vectors<T>& x) const {
  const std::int32_t width = local.layout.width(block);
  if (local.spread != nullptr) return local.spread->apply(block, x);
  const PanelPart<T> below = local.below(0, block);
  if (local.shape.groups() == 1)
    return apply_below<T>(
        tiles_, below, x,
        {local.x + local.layout.first(block) + width, local.order, local.count});
  const std::vector<PanelRows<T>> groups = local.all_rows(0, block);
  apply_below<T>(tiles_, PanelGroups<T>{below.rows, below.columns, groups}, x,
                 {local.x, local.order, local.count});
}

// And the way back.
template <class T>
void FrontSolve<T>::apply_rows_transposed(const Local& local, std::int32_t block,
                                          const Vectors<T>& x) const {
  const std::int32_t width = local.layout.width(block);
  if (local.spread != nullptr) return local.spread->apply_transposed(block, x);
  const PanelPart<T> below = local.below(1, block);
  if (local.shape.groups() == 1)
    return apply_below_transposed<T>(
        tiles_, below,
        {local.x + local.layout.first(block) + width, local.order, local.count}, x);
  const std::vector<PanelRows<T>> groups = local.all_rows(1, block);
  const Vectors<T> all{local.x, local.order, local.count};
  // Nobody reads the block's own rows before they are solved for.
  apply_below_transposed<T>(tiles_, PanelGroups<T>{below.rows, below.columns, groups},
                            all, x, all.from(local.layout.first(block)));
}

template <class T>
void FrontSolve<T>::forward_block(Local& local, std::int32_t block) const {
  const Trapezoid& layout = local.layout;
  const std::int32_t first = layout.first(block), width = layout.width(block),
                     e = local.eliminated(block);
  const std::int32_t* const order =
      local.first_order != nullptr ? local.first_order + first : nullptr;
  DiagonalWork<T> work;
  const auto [diagonal, leading] =
      diagonal_block(local.low_rank, layout, local.diagonal, block, work);
  const std::int32_t ld = view_.factor.leading(local.front, first, leading);
  const Vectors<T> x = local.own(block);
  const bool moves = x.data == local.block;
  if (moves) gather<T>(width, order, {local.x + first, local.order, x.count}, x);
  solve_forward(e, diagonal, width, ld, x);
  if (local.low_rank != nullptr)
    apply_tiles(local, block, x);
  else
    apply_rows(local, block, x);
  if (!moves) return;  // and no column was delayed
  if (local.slots_seen > 0) {
    const bool rows = view_.tree.kind == FactorKind::kLu && !transposed_;
    kernels::apply_below_transposed(
        e, local.slots_seen, local.delays->passed[rows ? 1 : 0].data() + first,
        layout.columns(), local.count, local.block, width, local.slot, local.slots);
  }
  if (e < width)
    gather<T>(width - e, nullptr, {local.block + e, width, local.count},
              {local.slot + local.slots_seen, local.slots, local.count});
  local.slots_seen += width - e;
  scatter<T>(width, order, {local.block, width, local.count},
             {local.x + first, local.order, local.count});
}

template <class T>
void FrontSolve<T>::forward_tail(Local& local) const {
  if (local.slots == 0) return;
  const FrontDelays<T>& delays = *local.delays;
  const std::int32_t slots = local.slots, columns = local.layout.columns();
  const std::int32_t rows = local.order - columns, leading = slots + rows;
  const auto& order = transposed_ ? delays.tail_column_order : delays.tail_row_order;
  const auto& place = transposed_ ? delays.slot_column : delays.slot_row;
  const std::int32_t e = delays.tail_eliminated;
  gather<T>(slots, order.data(), {local.slot, slots, local.count},
            {local.tail, slots, local.count});
  solve_forward(e, delays.tail[0].data(), slots, leading,
                {local.tail, slots, local.count});
  const bool upper = view_.tree.kind == FactorKind::kLu && transposed_;
  apply_below<T>(tiles_, {rows, e, delays.tail[upper ? 1 : 0].data() + slots, leading},
                 {local.tail, slots, local.count},
                 {local.x + columns, local.order, local.count});
  scatter<T>(slots, order.data(), {local.tail, slots, local.count},
             {local.slot, slots, local.count});
  scatter<T>(slots, place.data(), {local.slot, slots, local.count},
             {local.x, local.order, local.count});
}

template <class T>
void FrontSolve<T>::forward(std::int32_t front, const T* storage, const Vectors<T>& b,
                            const AncestorRows<T>& ancestors, T* memory) const {
  if (view_.symbolic.pivots(front) == 0) return;
  if (is_alone(front)) {
    if (divides_forward()) divide_alone(front, storage, b, b);
    return;
  }
  if (is_single(front)) return forward_single(front, storage, b, ancestors);
  if (has_few_pivots(front, b.count)) return forward_few(front, storage, b, ancestors);
  if (const auto few = narrow(front, b.count, storage)) {
    forward_narrow(*few, view_.symbolic.rows_of(front), b, ancestors, memory);
    return;
  }
  Local local = open(front, storage, b.count, memory);
  const Symbolic& symbolic = view_.symbolic;
  const std::int32_t own = symbolic.pivots(front), columns = local.layout.columns();
  const std::int32_t first = symbolic.first_column[front];
  const std::int32_t* const moved =
      columns == own
          ? nullptr
          : (transposed_ ? local.delays->columns_in : local.delays->rows_in).data();
  gather<T>(own, nullptr, b.from(first), {local.x, local.order, b.count});
  if (columns > own)
    gather<T>(columns - own, moved, b, {local.x + own, local.order, b.count});
  for (std::int32_t v = 0; v < b.count; ++v)
    std::fill_n(local.x + std::int64_t{v} * local.order + columns, local.order - columns,
                T{0});
  for (std::int32_t k = 0; k < local.layout.blocks(); ++k) forward_block(local, k);
  forward_tail(local);
  scatter<T>(own, nullptr, {local.x, local.order, b.count}, b.from(first));
  if (columns > own)
    scatter<T>(columns - own, moved, {local.x + own, local.order, b.count}, b);
  ancestors.add(symbolic.rows_of(front), {local.x + columns, local.order, b.count}, b);
}

template <class T>
void FrontSolve<T>::backward_tail(Local& local) const {
  if (local.slots == 0) return;
  const FrontDelays<T>& delays = *local.delays;
  const std::int32_t slots = local.slots, columns = local.layout.columns();
  const std::int32_t rows = local.order - columns, leading = slots + rows;
  const std::int32_t e = delays.tail_eliminated;
  if (divides_by_d())
    kernels::divide_by_d(e, delays.tail_d.data(), local.count, local.tail, slots);
  const bool upper = view_.tree.kind == FactorKind::kLu && !transposed_;
  apply_below_transposed<T>(
      tiles_, {rows, e, delays.tail[upper ? 1 : 0].data() + slots, leading},
      {local.x + columns, local.order, local.count}, {local.tail, slots, local.count});
  solve_backward(e, delays.tail[0].data(), slots, leading,
                 {local.tail, slots, local.count});
  const auto& order = transposed_ ? delays.tail_row_order : delays.tail_column_order;
  scatter<T>(slots, order.data(), {local.tail, slots, local.count},
             {local.slot, slots, local.count});
}

template <class T>
void FrontSolve<T>::backward_block(Local& local, std::int32_t block) const {
  const Trapezoid& layout = local.layout;
  const std::int32_t first = layout.first(block), width = layout.width(block),
                     e = local.eliminated(block);
  const auto at = [first](const std::int32_t* order) {
    return order != nullptr ? order + first : nullptr;
  };
  local.slots_seen -= width - e;
  const Vectors<T> x = local.own(block);
  const bool moves = x.data == local.block;
  if (moves)
    gather<T>(e, at(local.first_order), {local.z + first, local.z_stride, x.count}, x);
  if (e < width)
    gather<T>(width - e, nullptr,
              {local.slot + local.slots_seen, local.slots, local.count},
              {local.block + e, width, local.count});
  if (divides_by_d())
    kernels::divide_by_d(e, local.d + 2 * std::int64_t{first}, local.count, local.block,
                         width);
  if (local.low_rank != nullptr)
    apply_tiles_transposed(local, block, x);
  else
    apply_rows_transposed(local, block, x);
  if (local.slots_seen > 0) {
    const bool rows = view_.tree.kind == FactorKind::kLu && transposed_;
    kernels::apply_below(
        e, local.slots_seen, local.delays->passed[rows ? 1 : 0].data() + first,
        layout.columns(), local.count, local.slot, local.slots, local.block, width);
  }
  DiagonalWork<T> work;
  const auto [diagonal, leading] =
      diagonal_block(local.low_rank, layout, local.diagonal, block, work);
  const std::int32_t ld = view_.factor.leading(local.front, first, leading);
  solve_backward(e, diagonal, width, ld, x);
  if (moves)
    scatter<T>(width, at(local.second_order), x, {local.x + first, local.order, x.count});
}

// Slots that went on are known; backward_tail() finds the others.
template <class T>
void FrontSolve<T>::gather_slots(std::int32_t front, const Vectors<T>& z,
                                 const Vectors<T>& x, Local& local) const {
  for (std::int32_t k = 0; k < local.slots; ++k) {
    const FrontDelays<T>& delays = *local.delays;
    const bool here = k < delays.tail_eliminated;
    // z stands where the row was, x where the column is.
    const bool by_row = here != transposed_;
    const std::int32_t id = by_row ? delays.row_id(view_.symbolic, front, k)
                                   : delays.column_id(view_.symbolic, front, k);
    const Vectors<T>& from = here ? z : x;
    for (std::int32_t v = 0; v < x.count; ++v)
      local.tail[std::int64_t{v} * local.slots + k] = from.data[v * from.stride + id];
  }
  local.slots_seen = local.slots;
}

template <class T>
void FrontSolve<T>::backward(std::int32_t front, const T* storage, const Vectors<T>& z,
                             const Vectors<T>& x, T* memory) const {
  if (view_.symbolic.pivots(front) == 0) {  // the kept variables
    for (std::int32_t v = 0; v < x.count; ++v)
      for (const std::int32_t row : view_.symbolic.rows_of(front))
        x.data[v * x.stride + row] = T{0};
    return;
  }
  if (is_alone(front)) return backward_alone(front, storage, z, x);
  if (is_single(front)) return backward_single(front, storage, z, x);
  if (has_few_pivots(front, x.count)) return backward_few(front, storage, z, x);
  if (const auto few = narrow(front, x.count, storage)) {
    backward_narrow(*few, view_.symbolic.rows_of(front).data(), z, x, memory);
    return;
  }
  Local local = open(front, storage, x.count, memory);
  const Symbolic& symbolic = view_.symbolic;
  const std::int32_t own = symbolic.pivots(front), columns = local.layout.columns();
  const std::int32_t first = symbolic.first_column[front];
  const auto rows = symbolic.rows_of(front);
  gather<T>(local.order - columns, rows.data(), x,
            {local.x + columns, local.order, x.count});
  if (local.first_order == nullptr) local.z = local.x;
  gather<T>(own, nullptr, z.from(first), {local.z, local.order, x.count});
  if (columns > own) {
    const auto& in = transposed_ ? local.delays->columns_in : local.delays->rows_in;
    gather<T>(columns - own, in.data(), z, {local.z + own, local.order, x.count});
  }
  gather_slots(front, z, x, local);
  backward_tail(local);
  for (std::int32_t k = local.layout.blocks() - 1; k >= 0; --k) backward_block(local, k);
  scatter<T>(own, nullptr, {local.x, local.order, x.count}, x.from(first));
  if (columns > own) {
    const auto& in = transposed_ ? local.delays->rows_in : local.delays->columns_in;
    scatter<T>(columns - own, in.data(), {local.x + own, local.order, x.count}, x);
  }
}

template <class T>
std::int32_t FrontSolve<T>::slots_before(std::int32_t front, std::int32_t block) const {
  const FrontDelays<T>* const delays = view_.factor.delays_of(front);
  if (delays == nullptr) return 0;
  const Trapezoid layout = view_.factor.panel(view_.symbolic, view_.tree, front);
  std::int32_t count = 0;
  for (std::int32_t k = 0; k < block; ++k)
    count += layout.width(k) - delays->eliminated[k];
  return count;
}

template <class T>
auto FrontSolve<T>::open_blocks(std::int32_t front, const T* storage, const Vectors<T>& x,
                                const SlotVectors& slots, T* block, std::int32_t seen,
                                RowsBelow<T>* spread) const -> Local {
  Local local = open(front, storage, x.count);
  local.x = local.z = x.data;
  local.z_stride = x.stride;
  local.slot = slots.slots;
  local.tail = slots.tail;
  local.block = block;
  local.slots_seen = seen;
  local.spread = spread;
  return local;
}

template <class T>
void FrontSolve<T>::forward_blocks(std::int32_t front, const T* storage,
                                   std::int32_t begin, std::int32_t end,
                                   const Vectors<T>& x, const SlotVectors& slots,
                                   T* block, RowsBelow<T>* spread) const {
  Local local =
      open_blocks(front, storage, x, slots, block, slots_before(front, begin), spread);
  for (std::int32_t k = begin; k < end; ++k) forward_block(local, k);
  if (end < local.layout.blocks()) return;
  const bool away = spread != nullptr && local.slots > 0;
  if (away) spread->gather_below();
  forward_tail(local);
  if (away) spread->scatter_below();
}

// What forward() left of a block is not needed where x of it goes.
template <class T>
void FrontSolve<T>::backward_blocks(std::int32_t front, const T* storage,
                                    std::int32_t begin, std::int32_t end,
                                    const Vectors<T>& z, const Vectors<T>& whole,
                                    const Vectors<T>& x, const SlotVectors& slots,
                                    T* block, RowsBelow<T>* spread) const {
  Local local =
      open_blocks(front, storage, x, slots, block, slots_before(front, end), spread);
  if (end == local.layout.blocks()) {
    if (spread != nullptr && local.slots > 0) spread->gather_below();
    gather_slots(front, z, whole, local);
    backward_tail(local);
  }
  for (std::int32_t k = end - 1; k >= begin; --k) backward_block(local, k);
}

template <class T>
std::vector<IndexRange> FrontSolve<T>::groups_below(std::int32_t front,
                                                    std::int32_t block) const {
  return lay_out(front).groups_below(block);
}

template <class T>
void FrontSolve<T>::apply_group(std::int32_t front, const T* storage, std::int32_t block,
                                IndexRange rows, const Vectors<T>& x,
                                const Vectors<T>& y) const {
  const Local local = open(front, storage, x.count);
  const PanelPart<T> below = local.below(0, block);
  const PanelRows<T> group = local.rows(0, block, rows);
  apply_below<T>(nullptr, PanelGroups<T>{below.rows, below.columns, {&group, 1}}, x, y);
}

template <class T>
void FrontSolve<T>::apply_group_transposed(std::int32_t front, const T* storage,
                                           std::int32_t block, IndexRange rows,
                                           const Vectors<T>& y,
                                           const Vectors<T>& part) const {
  const Local local = open(front, storage, y.count);
  const PanelPart<T> below = local.below(1, block);
  solver::apply_group_transposed<T>(below.rows, below.columns, local.rows(1, block, rows),
                                    y, part);
}

#define ESPALIER_INSTANTIATE(T) template class FrontSolve<T>;
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
