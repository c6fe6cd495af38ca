#include "solver/solve/pivot_columns.h"

namespace espalier::solver {
namespace {

// Those of the blocks of a front's panel.
template <class T>
void pair_blocks(const FactorView<T>& view, std::int32_t front, const BlockChoice& chosen,
                 std::vector<std::int32_t>& column_of_row) {
  const Factor<T>& factor = view.factor;
  const FrontDelays<T>* const delays = factor.delays_of(front);
  const Trapezoid layout = factor.panel(view.symbolic, view.tree, front);
  const std::int32_t own = view.symbolic.first_column[front];
  const bool moved = factor.delayed_in(front) > 0;
  const auto id = [&](const auto& in, std::int32_t position) {
    return FrontDelays<T>::id(view.symbolic, front, in, position);
  };
  for (std::int32_t k = 0; k < layout.blocks(); ++k) {
    if (chosen && !chosen(k)) continue;
    const std::int32_t first = layout.first(k);
    const std::int32_t count =
        delays != nullptr ? delays->eliminated[k] : layout.width(k);
    for (std::int32_t i = first; i < first + count; ++i)
      if (moved)
        column_of_row[id(delays->rows_in, first + delays->row_order[i])] =
            id(delays->columns_in, first + delays->column_order[i]);
      else
        column_of_row[own + first + factor.row_order[own + i]] =
            own + first + factor.column_order[own + i];
  }
}

}  // namespace

template <class T>
bool has_tail(const FactorView<T>& view, std::int32_t front, const BlockChoice& chosen) {
  return !chosen ||
         chosen(view.factor.panel(view.symbolic, view.tree, front).blocks() - 1);
}

template <class T>
void pair_columns(const FactorView<T>& view, std::int32_t front,
                  const BlockChoice& chosen, std::vector<std::int32_t>& column_of_row) {
  pair_blocks(view, front, chosen, column_of_row);
  const FrontDelays<T>* const delays = view.factor.delays_of(front);
  if (delays == nullptr || !has_tail(view, front, chosen)) return;
  for (std::int32_t k = 0; k < delays->tail_eliminated; ++k)
    column_of_row[delays->row_id(view.symbolic, front, k)] =
        delays->column_id(view.symbolic, front, k);
}

template <class T>
std::vector<std::int32_t> pivot_columns(const FactorView<T>& view) {
  std::vector<std::int32_t> column_of_row;
  if (view.tree.kind != FactorKind::kLu) return column_of_row;
  column_of_row.resize(static_cast<std::size_t>(view.symbolic.inner()));
  for (std::int32_t s = 0; s < view.symbolic.fronts(); ++s)
    pair_columns(view, s, {}, column_of_row);
  return column_of_row;
}

#define ESPALIER_INSTANTIATE(T)                                                      \
  template bool has_tail(const FactorView<T>&, std::int32_t, const BlockChoice&);    \
  template void pair_columns(const FactorView<T>&, std::int32_t, const BlockChoice&, \
                             std::vector<std::int32_t>&);                            \
  template std::vector<std::int32_t> pivot_columns(const FactorView<T>&);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
