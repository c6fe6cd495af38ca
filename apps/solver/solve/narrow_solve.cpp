// Solves with fronts of few pivots, of which trees, bands and hubs are made.

#include <algorithm>
#include <array>

#include "solver/kernels/block_solve.h"
#include "solver/solve/triangular_solve.h"

namespace espalier::solver {

template <class T>
void FrontSolve<T>::divide_alone(std::int32_t front, const T* storage,
                                 const Vectors<T>& from, const Vectors<T>& to) const {
  const std::int32_t column = view_.symbolic.first_column[front];
  const T pivot = view_.tree.kind == FactorKind::kLdlt
                      ? view_.factor.d[2 * static_cast<std::size_t>(column)]
                      : *view_.factor.panel_data(front, storage);
  for (std::int32_t v = 0; v < to.count; ++v)
    to.data[v * to.stride + column] = from.data[v * from.stride + column] / pivot;
}

template <class T>
void FrontSolve<T>::backward_alone(std::int32_t front, const T* storage,
                                   const Vectors<T>& z, const Vectors<T>& x) const {
  if (divides_backward()) return divide_alone(front, storage, z, x);
  const std::int32_t column = view_.symbolic.first_column[front];
  for (std::int32_t v = 0; v < x.count; ++v)
    x.data[v * x.stride + column] = z.data[v * z.stride + column];
}

template <class T>
void FrontSolve<T>::forward_few(std::int32_t front, const T* storage, const Vectors<T>& b,
                                const AncestorRows<T>& ancestors) const {
  const kernels::FewPivots<T> few = few_pivots(front, storage);
  const std::int32_t column = view_.symbolic.first_column[front];
  const std::int32_t below = ancestors.find_places(view_.symbolic.rows_of(front));
  for (std::int32_t v = 0; v < b.count; ++v) {
    T* const inside = b.data + v * b.stride;
    T* const outside = ancestors.out.data + v * ancestors.out.stride;
    kernels::forward_few<T>(few, inside + column, inside,
                            {below, outside, ancestors.place});
  }
}

template <class T>
void FrontSolve<T>::backward_few(std::int32_t front, const T* storage,
                                 const Vectors<T>& z, const Vectors<T>& x) const {
  const kernels::FewPivots<T> few = few_pivots(front, storage);
  const std::int32_t column = view_.symbolic.first_column[front];
  for (std::int32_t v = 0; v < x.count; ++v) {
    T* const known = x.data + v * x.stride;
    kernels::backward_few<T>(few, z.data + v * z.stride + column, known, known + column);
  }
}

template <class T>
bool FrontSolve<T>::is_narrow(std::int32_t front, std::int32_t count) const {
  return is_alone(front) || is_single(front) || has_few_pivots(front, count) ||
         has_narrow_panel(front, count);
}

template <class T>
bool FrontSolve<T>::has_narrow_panel(std::int32_t front, std::int32_t count) const {
  const std::int32_t pivots = view_.symbolic.pivots(front);
  return pivots <= (count == 1 ? kNarrow : kNarrowOfTwo) && count <= kFewVectors &&
         pivots <= view_.tree.block_width[front] && !view_.tree.is_tiled[front] &&
         view_.factor.delays_of(front) == nullptr &&
         view_.factor.low_rank_of(front) == nullptr;
}

template <class T>
auto FrontSolve<T>::narrow(std::int32_t front, std::int32_t count, const T* storage) const
    -> std::optional<Narrow> {
  if (!has_narrow_panel(front, count)) return std::nullopt;
  const Symbolic& symbolic = view_.symbolic;
  const std::int32_t pivots = symbolic.pivots(front);
  const FactorKind kind = view_.tree.kind;
  const std::int32_t order = symbolic.front_order(front);
  const std::int32_t first = symbolic.first_column[front];
  const T* const data = view_.factor.panel_data(front, storage);
  const std::int64_t entries = std::int64_t{order} * pivots;
  Narrow narrow{.column = first,
                .pivots = pivots,
                .below = order - pivots,
                .leading = order,
                .diagonal = data,
                .panel = {data + pivots, data + pivots},
                .first_order = nullptr,
                .second_order = nullptr,
                .d = nullptr};
  if (kind == FactorKind::kCholesky) return narrow;
  const Factor<T>& factor = view_.factor;
  narrow.first_order = narrow.second_order = factor.row_order.data() + first;
  if (kind == FactorKind::kLdlt) {
    if (divides_by_d()) narrow.d = factor.d.data() + 2 * std::int64_t{first};
    return narrow;
  }
  narrow.panel[transposed_ ? 0 : 1] += entries;
  (transposed_ ? narrow.first_order : narrow.second_order) =
      factor.column_order.data() + first;
  return narrow;
}

template <class T>
void FrontSolve<T>::forward_narrow(const Narrow& front,
                                   std::span<const std::int32_t> rows,
                                   const Vectors<T>& b, const AncestorRows<T>& ancestors,
                                   T* left) const {
  const std::int32_t pivots = front.pivots;
  const auto place = [&](std::int32_t k) {
    return front.first_order != nullptr ? front.first_order[k] : k;
  };
  std::array<T, kNarrow> x;
  for (std::int32_t v = 0; v < b.count; ++v) {
    T* const own = b.data + v * b.stride + front.column;
    for (std::int32_t k = 0; k < pivots; ++k) x[k] = own[place(k)];
    if (view_.tree.kind == FactorKind::kLu && transposed_)
      kernels::forward_solve_transposed(pivots, front.diagonal, front.leading, 1,
                                        x.data(), pivots);
    else
      kernels::forward_solve(view_.tree.kind, pivots, front.diagonal, front.leading, 1,
                             x.data(), pivots);
    for (std::int32_t k = 0; k < pivots; ++k) own[place(k)] = x[k];
    T* const target = left + std::int64_t{v} * front.below;
    std::fill_n(target, front.below, T{0});
    kernels::apply_below(front.below, pivots, front.panel[0], front.leading, 1, x.data(),
                         pivots, target, front.below);
  }
  ancestors.add(rows, {left, front.below, b.count}, b);
}

template <class T>
void FrontSolve<T>::backward_narrow(const Narrow& front, const std::int32_t* rows,
                                    const Vectors<T>& z, const Vectors<T>& x,
                                    T* above) const {
  const std::int32_t pivots = front.pivots;
  const auto at = [](const std::int32_t* order, std::int32_t k) {
    return order != nullptr ? order[k] : k;
  };
  std::array<T, kNarrow> y;
  for (std::int32_t v = 0; v < x.count; ++v) {
    T* const known = x.data + v * x.stride;
    const T* const right = z.data + v * z.stride + front.column;
    for (std::int32_t k = 0; k < pivots; ++k) y[k] = right[at(front.first_order, k)];
    if (front.d != nullptr) kernels::divide_by_d(pivots, front.d, 1, y.data(), pivots);
    for (std::int32_t i = 0; i < front.below; ++i) above[i] = known[rows[i]];
    kernels::apply_below_transposed(front.below, pivots, front.panel[1], front.leading, 1,
                                    above, front.below, y.data(), pivots);
    if (view_.tree.kind == FactorKind::kLu && transposed_)
      kernels::backward_solve_transposed(pivots, front.diagonal, front.leading, 1,
                                         y.data(), pivots);
    else
      kernels::backward_solve(view_.tree.kind, pivots, front.diagonal, front.leading, 1,
                              y.data(), pivots);
    for (std::int32_t k = 0; k < pivots; ++k)
      known[front.column + at(front.second_order, k)] = y[k];
  }
}

// As forward_narrow(); of a factor with ones on its diagonal nothing is divided.
template <class T>
void FrontSolve<T>::forward_single(std::int32_t front, const T* storage,
                                   const Vectors<T>& b,
                                   const AncestorRows<T>& ancestors) const {
  const FactorKind kind = view_.tree.kind;
  const auto rows = view_.symbolic.rows_of(front);
  const T* const panel = view_.factor.panel_data(front, storage);
  const bool upper = kind == FactorKind::kLu && transposed_;
  const T* const below = panel + 1 + (upper ? rows.size() + 1 : 0);
  const auto first = static_cast<std::size_t>(ancestors.find_places(rows));
  for (std::int32_t v = 0; v < b.count; ++v) {
    T* const inside = b.data + v * b.stride;
    T& own = inside[view_.symbolic.first_column[front]];
    if (kind == FactorKind::kCholesky || upper) own = kernels::quotient(own, *panel);
    const T x = own;
    T* const outside = ancestors.out.data + v * ancestors.out.stride;
    for (std::size_t i = 0; i < first; ++i) inside[rows[i]] -= below[i] * x;
    for (std::size_t i = first; i < rows.size(); ++i)
      outside[ancestors.place[i - first]] -= below[i] * x;
  }
}

template <class T>
void FrontSolve<T>::backward_single(std::int32_t front, const T* storage,
                                    const Vectors<T>& z, const Vectors<T>& x) const {
  const FactorKind kind = view_.tree.kind;
  const std::int32_t column = view_.symbolic.first_column[front];
  const auto rows = view_.symbolic.rows_of(front);
  const T* const panel = view_.factor.panel_data(front, storage);
  const bool upper = kind == FactorKind::kLu && !transposed_;
  const T* const below = panel + 1 + (upper ? rows.size() + 1 : 0);
  for (std::int32_t v = 0; v < x.count; ++v) {
    T* const known = x.data + v * x.stride;
    T y = z.data[v * z.stride + column];
    if (divides_by_d()) y /= view_.factor.d[2 * static_cast<std::size_t>(column)];
    for (std::size_t i = 0; i < rows.size(); ++i) y -= across(below[i]) * known[rows[i]];
    known[column] =
        kind == FactorKind::kCholesky || upper ? kernels::quotient(y, *panel) : y;
  }
}

#define ESPALIER_INSTANTIATE(T)                                                          \
  template void FrontSolve<T>::divide_alone(std::int32_t, const T*, const Vectors<T>&,   \
                                            const Vectors<T>&) const;                    \
  template void FrontSolve<T>::backward_alone(std::int32_t, const T*, const Vectors<T>&, \
                                              const Vectors<T>&) const;                  \
  template void FrontSolve<T>::forward_few(std::int32_t, const T*, const Vectors<T>&,    \
                                           const AncestorRows<T>&) const;                \
  template void FrontSolve<T>::backward_few(std::int32_t, const T*, const Vectors<T>&,   \
                                            const Vectors<T>&) const;                    \
  template bool FrontSolve<T>::is_narrow(std::int32_t, std::int32_t) const;              \
  template bool FrontSolve<T>::has_narrow_panel(std::int32_t, std::int32_t) const;       \
  template std::optional<FrontSolve<T>::Narrow> FrontSolve<T>::narrow(                   \
      std::int32_t, std::int32_t, const T*) const;                                       \
  template void FrontSolve<T>::forward_narrow(                                           \
      const Narrow&, std::span<const std::int32_t>, const Vectors<T>&,                   \
      const AncestorRows<T>&, T*) const;                                                 \
  template void FrontSolve<T>::backward_narrow(const Narrow&, const std::int32_t*,       \
                                               const Vectors<T>&, const Vectors<T>&, T*) \
      const;                                                                             \
  template void FrontSolve<T>::forward_single(std::int32_t, const T*, const Vectors<T>&, \
                                              const AncestorRows<T>&) const;             \
  template void FrontSolve<T>::backward_single(                                          \
      std::int32_t, const T*, const Vectors<T>&, const Vectors<T>&) const;
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
