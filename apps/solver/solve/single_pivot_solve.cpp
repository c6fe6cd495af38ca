// Solves with fronts of one pivot, of which trees and hubs are made.

#include "solver/solve/triangular_solve.h"

namespace espalier::solver {

template <class T>
auto FrontSolve<T>::single(std::int32_t front, const T* storage) const
    -> std::optional<Single> {
  const Symbolic& symbolic = view_.symbolic;
  if (symbolic.pivots(front) != 1 || view_.factor.front[front].delays)
    return std::nullopt;
  const FactorKind kind = view_.tree.kind;
  const std::int32_t order = symbolic.front_order(front);
  const T* const data = view_.factor.panel_data(front, storage);
  Single one{symbolic.first_column[front], order - 1, {data + 1, data + 1}, 1, 1, 1};
  if (kind == FactorKind::kLu) {
    one.panel[transposed_ ? 0 : 1] += order;
    (transposed_ ? one.forward_divisor : one.backward_divisor) = *data;
  } else if (kind == FactorKind::kLdlt) {
    one.middle_divisor = view_.factor.d[2 * static_cast<std::size_t>(one.column)];
  } else {
    one.forward_divisor = one.backward_divisor = *data;
  }
  return one;
}

template <class T>
void FrontSolve<T>::forward_single(const Single& one, std::int32_t front,
                                   const Vectors<T>& b,
                                   const AncestorRows<T>& ancestors) const {
  const std::int32_t* const rows = view_.symbolic.rows_of(front).data();
  for (std::int32_t v = 0; v < b.count; ++v) {
    T* const inside = b.data + v * b.stride;
    const T x = inside[one.column] /= one.forward_divisor;
    T* const outside = ancestors.out.data + v * ancestors.out.stride;
    for (std::int32_t k = 0; k < one.below; ++k)
      (rows[k] < ancestors.limit ? inside[rows[k]] : outside[ancestors.place[rows[k]]]) -=
          one.panel[0][k] * x;
  }
}

template <class T>
void FrontSolve<T>::backward_single(const Single& one, std::int32_t front,
                                    const Vectors<T>& z, const Vectors<T>& x) const {
  const std::int32_t* const rows = view_.symbolic.rows_of(front).data();
  for (std::int32_t v = 0; v < x.count; ++v) {
    T* const known = x.data + v * x.stride;
    T value = z.data[v * z.stride + one.column] / one.middle_divisor;
    for (std::int32_t k = 0; k < one.below; ++k)
      value -= one.panel[1][k] * known[rows[k]];
    known[one.column] = value / one.backward_divisor;
  }
}

#define ESPALIER_INSTANTIATE(T)                                                        \
  template std::optional<FrontSolve<T>::Single> FrontSolve<T>::single(std::int32_t,    \
                                                                      const T*) const; \
  template void FrontSolve<T>::forward_single(                                         \
      const Single&, std::int32_t, const Vectors<T>&, const AncestorRows<T>&) const;   \
  template void FrontSolve<T>::backward_single(                                        \
      const Single&, std::int32_t, const Vectors<T>&, const Vectors<T>&) const;
ESPALIER_INSTANTIATE(float)
ESPALIER_INSTANTIATE(double)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
