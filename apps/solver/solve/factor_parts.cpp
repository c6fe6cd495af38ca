#include "solver/solve/factor_parts.h"

#include <algorithm>
#include <vector>

#include "solver/kernels/block_solve.h"
#include "solver/solve/paced_ask.h"
#include "solver/solve/pivot_columns.h"

namespace espalier::solver {
namespace {

// Of each kind of pivots in turn: those of the blocks, and those of the tail.
template <class T>
class DividesByD {
 public:
  DividesByD(const FactorView<T>& view, const Vectors<T>& z) : view_(view), z_(z) {}

  void divide(std::int32_t front) {
    const FrontDelays<T>* const delays = view_.factor.delays_of(front);
    const bool moved = delays != nullptr && delays->delayed_in > 0;
    const Trapezoid layout = view_.factor.panel(view_.symbolic, view_.tree, front);
    const std::int32_t own = view_.symbolic.first_column[front];
    for (std::int32_t k = 0; k < layout.blocks(); ++k) {
      const std::int32_t first = layout.first(k);
      const std::int32_t* const order =
          (moved ? delays->row_order.data() : view_.factor.row_order.data() + own) +
          first;
      const T* const d =
          (moved ? delays->d.data() : view_.factor.d.data() + 2 * std::int64_t{own}) +
          2 * std::int64_t{first};
      rows_.clear();
      const std::int32_t count =
          delays != nullptr ? delays->eliminated[k] : layout.width(k);
      for (std::int32_t i = 0; i < count; ++i)
        rows_.push_back(moved ? FrontDelays<T>::id(view_.symbolic, front, delays->rows_in,
                                                   first + order[i])
                              : own + first + order[i]);
      divide_rows(d);
    }
    if (delays == nullptr) return;
    rows_.clear();
    for (std::int32_t k = 0; k < delays->tail_eliminated; ++k)
      rows_.push_back(delays->row_id(view_.symbolic, front, k));
    divide_rows(delays->tail_d.data());
  }

 private:
  void divide_rows(const T* d) {
    const auto count = static_cast<std::int32_t>(rows_.size());
    if (count == 0) return;
    pivots_.resize(rows_.size());
    for (std::int32_t v = 0; v < z_.count; ++v) {
      T* const vector = z_.data + v * z_.stride;
      for (std::size_t i = 0; i < rows_.size(); ++i) pivots_[i] = vector[rows_[i]];
      kernels::divide_by_d(count, d, 1, pivots_.data(), count);
      for (std::size_t i = 0; i < rows_.size(); ++i) vector[rows_[i]] = pivots_[i];
    }
  }

  const FactorView<T>& view_;
  Vectors<T> z_;
  std::vector<std::int32_t> rows_;  // of the pivots at hand
  std::vector<T> pivots_;
};

// Calls visit(front, panels of its node), from the leaves to the roots or back.
template <class T, class Visit>
void for_each_front(const FactorView<T>& view, bool upwards, Visit visit) {
  const auto nodes = static_cast<std::int32_t>(view.tree.nodes.size());
  for (std::int32_t k = 0; k < nodes; ++k) {
    const std::int32_t node = upwards ? k : nodes - 1 - k;
    const NodeStorage<T> storage(view, node);
    const AssemblyTree::Node& fronts = view.tree.nodes[node];
    const std::int32_t count = fronts.last_front - fronts.first_front + 1;
    for (std::int32_t i = 0; i < count; ++i)
      visit(upwards ? fronts.first_front + i : fronts.last_front - i, storage.data());
  }
}

template <class T>
void solve_half(const FactorView<T>& view, bool forward, bool transposed,
                const Vectors<T>& b, const Vectors<T>& x, PacedAsk& ask) {
  const FrontSolve<T> solve(view, transposed, Halves::kApart);
  std::vector<T> local(static_cast<std::size_t>(solve.local_entries() * b.count));
  for_each_front(view, forward, [&](std::int32_t front, const T* storage) {
    ask.before(solve.panel_entries(front) * b.count);
    if (forward)
      solve.forward(front, storage, b, {}, local.data());
    else
      solve.backward(front, storage, b, x, local.data());
  });
}

// Of L U transposed, whose halves leave and want an entry where the pivot's column is:
// from there to its row, or the other way.
template <class T>
void move_entries(const std::vector<std::int32_t>& column_of_row, bool to_rows,
                  const Vectors<T>& vectors) {
  std::vector<T> before(column_of_row.size());
  for (std::int32_t v = 0; v < vectors.count; ++v) {
    T* const vector = vectors.data + v * vectors.stride;
    std::copy_n(vector, before.size(), before.data());
    for (std::size_t i = 0; i < before.size(); ++i) {
      const auto column = static_cast<std::size_t>(column_of_row[i]);
      vector[to_rows ? i : column] = before[to_rows ? column : i];
    }
  }
}

// What a half or D has left in b.
template <class T>
void copy(const Symbolic& symbolic, const Vectors<T>& b, const Vectors<T>& x) {
  const std::int32_t inner = symbolic.inner();
  for (std::int32_t v = 0; v < b.count; ++v) {
    const T* const from = b.data + v * b.stride;
    T* const to = x.data + v * x.stride;
    if (from != to) std::copy_n(from, inner, to);
    std::fill(to + inner, to + symbolic.size, T{0});
  }
}

}  // namespace

template <class T>
void solve_part(const FactorView<T>& view, FactorPart part, bool transposed,
                const Vectors<T>& b, const Vectors<T>& x,
                const std::function<void()>& ask) {
  PacedAsk paced(ask);
  if (part == FactorPart::kD) {
    DividesByD<T> pivots(view, b);
    for (std::int32_t s = 0; s < view.symbolic.fronts(); ++s) {
      paced.before(std::int64_t{view.symbolic.pivots(s)} * b.count);
      pivots.divide(s);
    }
    return copy(view.symbolic, b, x);
  }
  const bool forward = (part == FactorPart::kL) != transposed;
  std::vector<std::int32_t> column_of_row;
  if (transposed) column_of_row = pivot_columns(view);
  if (!forward) move_entries(column_of_row, false, b);
  solve_half(view, forward, transposed, b, x, paced);
  if (!forward) return;
  move_entries(column_of_row, true, b);
  copy(view.symbolic, b, x);
}

#define ESPALIER_INSTANTIATE(T)                                                       \
  template void solve_part(const FactorView<T>&, FactorPart, bool, const Vectors<T>&, \
                           const Vectors<T>&, const std::function<void()>&);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
