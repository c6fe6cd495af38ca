#include "solver/front/factor.h"

namespace espalier::solver {

template <class T>
Factor<T>::Factor(const Symbolic& symbolic, const AssemblyTree& tree)
    : storage(tree.nodes.size()), front(symbolic.parent.size()) {
  const auto n = static_cast<std::size_t>(symbolic.size);
  if (tree.kind != FactorKind::kCholesky) row_order.resize(n);
  if (tree.kind == FactorKind::kLu) column_order.resize(n);
  if (tree.kind == FactorKind::kLdlt) d.resize(2 * n);
}

template <class T>
Trapezoid Factor<T>::panel(const Symbolic& symbolic, const AssemblyTree& tree,
                           std::int32_t s) const {
  const Trapezoid planned = tree.panel(symbolic, s);
  const std::int32_t more = delayed_in(s);
  return {planned.rows() + more, planned.columns() + more, tree.block_width[s]};
}

template <class T>
LowRankStatistics Factor<T>::low_rank() const {
  LowRankStatistics sum;
  for (const FrontFactor<T>& one : front)
    if (one.low_rank) add_to(sum, *one.low_rank, sizeof(T));
  return sum;
}

template <class T>
Bytes Factor<T>::footprint(const Symbolic& symbolic, FactorKind kind) {
  const std::int64_t a_column = kind == FactorKind::kCholesky ? 0
                                : kind == FactorKind::kLdlt
                                    ? sizeof(std::int32_t) + 2 * sizeof(T)
                                    : 2 * sizeof(std::int32_t);
  return symbolic.size * a_column +
         symbolic.fronts() * static_cast<Bytes>(sizeof(FrontFactor<T>));
}

#define ESPALIER_INSTANTIATE(T) template struct Factor<T>;
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
