#include "solver/solve/kept_block.h"

namespace espalier::solver {

template <class T>
void read_kept_block(const FactorView<T>& view, std::span<double> block) {
  const std::int32_t front = view.symbolic.fronts() - 1, n = view.symbolic.kept();
  const Trapezoid layout = view.tree.contribution(view.symbolic, front);
  const T* const lower = view.factor.kept.template as<T>();
  const T* const upper = lower + (view.tree.sides() - 1) * layout.entries();
  for (std::int32_t j = 0; j < n; ++j) {
    const std::int64_t at = layout.column_offset(j);
    for (std::int32_t i = j; i < n; ++i) {
      block[i + std::int64_t{j} * n] = lower[at + i];
      if (i > j) block[j + std::int64_t{i} * n] = upper[at + i];
    }
  }
}

template void read_kept_block(const FactorView<float>&, std::span<double>);
template void read_kept_block(const FactorView<double>&, std::span<double>);

}  // namespace espalier::solver
