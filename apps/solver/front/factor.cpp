#include "solver/front/factor.h"

namespace espalier::solver {

template <class T>
Factor<T>::Factor(const Symbolic& symbolic, const AssemblyTree& tree)
    : storage(tree.nodes.size()), offset(symbolic.parent.size()) {
  for (const AssemblyTree::Node& node : tree.nodes)
    if (node.low_rank) compressed.emplace(node.last_front, nullptr);
  if (tree.kind == FactorKind::kCholesky) return;
  delays.resize(symbolic.parent.size());
  const auto n = static_cast<std::size_t>(symbolic.size);
  row_order = ZeroedVector<std::int32_t>(n);
  if (tree.kind == FactorKind::kLu) column_order = ZeroedVector<std::int32_t>(n);
  if (tree.kind == FactorKind::kLdlt) d = ZeroedVector<T>(2 * n);
}

template <class T>
Trapezoid Factor<T>::panel(const Symbolic& symbolic, const AssemblyTree& tree,
                           std::int32_t s) const {
  return tree.panel(symbolic, s, delayed_in(s));
}

template <class T>
LowRankStatistics Factor<T>::low_rank() const {
  LowRankStatistics sum;
  for (const auto& [front, panel] : compressed)
    if (panel != nullptr) add_to(sum, *panel, sizeof(T));
  return sum;
}

template <class T>
Bytes Factor<T>::footprint(const Symbolic& symbolic, FactorKind kind) {
  constexpr Bytes kOffset = sizeof(std::int64_t), kPlace = sizeof(std::int32_t);
  if (kind == FactorKind::kCholesky) return symbolic.fronts() * kOffset;
  const Bytes a_column =
      kPlace + (kind == FactorKind::kLdlt ? 2 * static_cast<Bytes>(sizeof(T)) : kPlace);
  return symbolic.size * a_column +
         symbolic.fronts() *
             (kOffset + static_cast<Bytes>(sizeof(std::unique_ptr<FrontDelays<T>>)));
}

#define ESPALIER_INSTANTIATE(T) template struct Factor<T>;
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
