#include "solver/solve/kept_block.h"

namespace espalier::solver {

template <class T>
void read_kept_block(const FactorView<T>& view, std::span<double> block) {
  const std::int32_t front = view.symbolic.fronts() - 1, n = view.symbolic.kept();
  const Trapezoid layout = view.tree.contribution(view.symbolic, front);
  const T* const lower = view.factor.kept.template as<T>();
  const T* const upper = lower + (view.tree.sides() - 1) * layout.entries();
  auto* const entries = reinterpret_cast<Wide<T>*>(block.data());
  for (std::int32_t j = 0; j < n; ++j) {
    const std::int64_t at = layout.column_offset(j);
    for (std::int32_t i = j; i < n; ++i) {
      entries[i + std::int64_t{j} * n] = widened(lower[at + i]);
      if (i > j)
        entries[j + std::int64_t{i} * n] =
            widened(upper == lower ? across(lower[at + i]) : upper[at + i]);
    }
  }
}

#define ESPALIER_INSTANTIATE(T) \
  template void read_kept_block(const FactorView<T>&, std::span<double>);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
