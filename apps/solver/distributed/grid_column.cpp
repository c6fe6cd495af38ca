// Solves with block columns whose rows are at the processes of a column of a grid.

#include <algorithm>

#include "solver/distributed/shared_solve.h"
#include "solver/distributed/vector_rows.h"
#include "solver/solve/cut_products.h"

namespace espalier::solver {

/// One block column, as one of the processes sees it. The owner of the diagonal block
/// solves; on the way up the others get what it has found, on the way down it gets what
/// their groups of rows do to it, and adds that in the order of the groups: as one
/// process does.
template <class T>
class SharedSolve<T>::GridColumn final : public RowsBelow<T> {
 public:
  GridColumn(const SharedSolve& solve, const Open& at, std::int32_t block,
             const T* panels)
      : solve_(solve),
        at_(at),
        block_(block),
        width_(at.panel.width(block)),
        eliminated_(width_ - (solve.fronts_.slots_before(at.front, block + 1) -
                              solve.fronts_.slots_before(at.front, block))),
        panels_(panels),
        groups_(solve.fronts_.groups_below(at.front, block)),
        column_(solve.column_at(at, block)),
        diagonal_(solve.grid_row(at.node, at.front, at.panel.first(block))) {}

  [[nodiscard]] bool owns_diagonal() const { return diagonal_ == at_.mine; }

  // At the owner of the diagonal block.
  void apply(std::int32_t /*block*/, const Vectors<T>& x) override {
    for (std::size_t row = 0; row < column_.size(); ++row)
      if (static_cast<std::int32_t>(row) != at_.mine)
        send(solve_.communicator_, std::span<const T>(values(x.data)), column_[row],
             MessageTag::kForward);
    apply_own(x);
  }
  void apply_transposed(std::int32_t /*block*/, const Vectors<T>& x) override {
    std::vector<T*> next;  // of each row of the grid: where its groups' parts are
    T* free = solve_.message(0).data();
    for (std::size_t row = 0; row < column_.size(); ++row) {
      next.push_back(free);
      const std::int64_t count = groups_of(static_cast<std::int32_t>(row));
      if (static_cast<std::int32_t>(row) == at_.mine || count == 0) continue;
      const std::span<T> parts(free, static_cast<std::size_t>(count * entries()));
      receive(solve_.communicator_, parts, column_[row], MessageTag::kBackward);
      free += parts.size();
    }
    for (const IndexRange rows : groups_) {
      const std::int32_t row = row_of(rows);
      // Of its own ones in the block's rows, which nobody reads before they are solved
      // for.
      const Vectors<T> part = row == at_.mine
                                  ? solve_.vector(at_).from(at_.panel.first(block_))
                                  : Vectors<T>{next[row], width_, x.count};
      if (row == at_.mine)
        form_part(rows, part);
      else
        next[row] += entries();
      add_part(part, 0, eliminated_, x);
    }
  }

  void gather_below() override {
    for (std::int32_t row = 0; row < at_.grid_rows; ++row)
      if (row != at_.mine) exchange_below(row, diagonal_);
  }
  void scatter_below() override {
    for (std::int32_t row = 0; row < at_.grid_rows; ++row)
      if (row != at_.mine) exchange_below(row, row);
  }
  // The rows under the panel that a row of the grid has, between that and the diagonal's,
  // to row `to` of these.
  void exchange_below(std::int32_t row, std::int32_t to) const {
    const auto ranges = solve_.rows_at(at_, row, {at_.panel.columns(), at_.panel.rows()});
    const Vectors<T> v = solve_.vector(at_);
    std::int64_t rows = 0;
    for (const auto& [begin, end] : ranges) rows += end - begin;
    if (rows == 0) return;
    const std::span<T> part = solve_.message(rows);
    const auto copy = [&](bool into) {
      T* next = part.data();
      for (const auto& [begin, end] : ranges) {
        const std::int32_t some = end - begin;
        if (into)
          copy_rows<T>(next, some, v.data + begin, v.stride, some, v.count);
        else
          copy_rows<T>(v.data + begin, v.stride, next, some, some, v.count);
        next += std::int64_t{some} * v.count;
      }
    };
    const std::int32_t other = row == at_.mine ? diagonal_ : row;
    if (to == at_.mine) {
      receive(solve_.communicator_, part, column_[other], MessageTag::kForward);
      return copy(true);
    }
    copy(false);
    send(solve_.communicator_, std::span<const T>(part), column_[other],
         MessageTag::kForward);
  }
  [[nodiscard]] std::int32_t diagonal() const { return diagonal_; }

  // At the others. @param x  work space for the block
  void follow_up(T* x) {
    receive(solve_.communicator_, values(x), column_[diagonal_], MessageTag::kForward);
    apply_own({x, width_, solve_.b_.count});
  }
  void help_down() {
    T* const parts = solve_.message(0).data();
    T* next = parts;
    for (const IndexRange rows : groups_) {
      if (row_of(rows) != at_.mine) continue;
      form_part(rows, {next, width_, solve_.b_.count});
      next += entries();
    }
    if (next != parts)
      send(solve_.communicator_, std::span<const T>(parts, next), column_[diagonal_],
           MessageTag::kBackward);
  }

 private:
  [[nodiscard]] std::int64_t entries() const {
    return std::int64_t{width_} * solve_.b_.count;
  }
  [[nodiscard]] std::span<T> values(T* x) const {
    return {x, static_cast<std::size_t>(entries())};
  }
  [[nodiscard]] std::int32_t row_of(IndexRange rows) const {
    return solve_.grid_row(at_.node, at_.front, rows.begin);
  }
  [[nodiscard]] std::int64_t groups_of(std::int32_t row) const {
    return std::ranges::count_if(groups_,
                                 [&](IndexRange rows) { return row_of(rows) == row; });
  }
  void apply_own(const Vectors<T>& x) const {
    for (const IndexRange rows : groups_)
      if (row_of(rows) == at_.mine)
        solve_.fronts_.apply_group(at_.front, panels_, block_, rows, x,
                                   solve_.vector(at_));
  }
  void form_part(IndexRange rows, const Vectors<T>& part) const {
    solve_.fronts_.apply_group_transposed(at_.front, panels_, block_, rows,
                                          solve_.vector(at_), part);
  }

  const SharedSolve& solve_;
  const Open& at_;
  std::int32_t block_, width_, eliminated_;
  const T* panels_;
  std::vector<IndexRange> groups_;
  std::vector<std::int32_t> column_;  // its processes
  std::int32_t diagonal_;             // the row of the grid that has the diagonal block
};

template <class T>
void SharedSolve<T>::forward_run(const Open& at, const BlockRun& run,
                                 const T* panels) const {
  T* const block = space_.block.template as<T>();
  if (at.grid_rows == 1)
    return fronts_.forward_blocks(at.front, panels, run.begin, run.end, vector(at),
                                  slots(at), block);
  for (std::int32_t k = run.begin; k < run.end; ++k) {
    GridColumn column(*this, at, k, panels);
    if (!column.owns_diagonal()) {
      column.follow_up(block);
      if (k + 1 < at.panel.blocks() || at.slots == 0) continue;
      column.exchange_below(at.mine, column.diagonal());
      column.exchange_below(at.mine, at.mine);
      continue;
    }
    send_slots(at, k, owner_at(at, std::max(0, k - 1)), communicator_.rank(),
               MessageTag::kForward);
    fronts_.forward_blocks(at.front, panels, k, k + 1, vector(at), slots(at), block,
                           &column);
    if (k + 1 < run.end)
      send_slots(at, k + 1, communicator_.rank(), owner_at(at, k + 1),
                 MessageTag::kForward);
  }
}

// What the slots are so far, before a block, from one owner of a diagonal block to the
// next: after the front's rows where the column of the grid changes.
template <class T>
void SharedSolve<T>::send_slots(const Open& at, std::int32_t block, std::int32_t from,
                                std::int32_t to, MessageTag tag) const {
  if (from == to || at.grid_rows == 1) return;
  const std::int32_t count = fronts_.slots_before(at.front, block);
  if (count == 0) return;
  const std::span<T> part = message(count);
  T* const here = slots(at).slots;
  if (to == communicator_.rank()) {
    receive(communicator_, part, from, tag);
    return copy_rows<T>(part.data(), count, here, at.slots, count, b_.count);
  }
  copy_rows<T>(here, at.slots, part.data(), count, count, b_.count);
  send(communicator_, std::span<const T>(part), to, tag);
}

template <class T>
void SharedSolve<T>::backward_run(const Open& at, const BlockRun& run,
                                  const T* panels) const {
  const std::int32_t first = at.panel.first(run.begin),
                     last = std::min(at.panel.first(run.end), at.panel.columns());
  for (const auto& [begin, end] : own_rows(at, {first, last}))
    to_vector(at, b_, begin, end);
  T* const block = space_.block.template as<T>();
  if (at.grid_rows == 1)
    return fronts_.backward_blocks(at.front, panels, run.begin, run.end, b_, x_,
                                   vector(at), slots(at), block);
  for (std::int32_t k = run.end - 1; k >= run.begin; --k) {
    GridColumn column(*this, at, k, panels);
    const bool ends = k + 1 == at.panel.blocks();
    if (!column.owns_diagonal()) {
      if (ends && at.slots > 0) column.exchange_below(at.mine, column.diagonal());
      column.help_down();
      continue;
    }
    if (!ends)
      send_slots(at, k + 1, owner_at(at, k + 1), communicator_.rank(),
                 MessageTag::kBackward);
    fronts_.backward_blocks(at.front, panels, k, k + 1, b_, x_, vector(at), slots(at),
                            block, &column);
    if (k > run.begin)
      send_slots(at, k, communicator_.rank(), owner_at(at, k - 1), MessageTag::kBackward);
  }
}

#define ESPALIER_INSTANTIATE(T)                                                      \
  template void SharedSolve<T>::forward_run(const Open&, const BlockRun&, const T*)  \
      const;                                                                         \
  template void SharedSolve<T>::backward_run(const Open&, const BlockRun&, const T*) \
      const;
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
