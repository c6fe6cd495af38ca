#include "solver/kernels/single_pivot.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "solver/matrix/entry.h"

namespace espalier::solver::kernels {

template <class T>
std::optional<PivotCounts> factor_single_pivot(FactorKind kind,
                                               const PivotBlock<T>& block,
                                               const PivotRule& rule) {
  using Real = RealOf<T>;
  const T pivot = on_diagonal(*block.diagonal), inverse = T(1) / pivot;
  const auto size = static_cast<double>(size_of(pivot));
  if (!(size > rule.tiny) || !std::isfinite(size) || !std::isnormal(size_of(inverse)))
    return std::nullopt;
  const auto bound = static_cast<Real>(std::min(
      1 / rule.threshold, static_cast<double>(std::numeric_limits<Real>::max())));
  bool over = false;
  for (const RowSegment<T>& rows : block.below)
    for (std::int32_t i = 0; i < rows.rows; ++i)
      over |= !(size_of(T(rows.data[i] * inverse)) <= bound);
  if (over) return std::nullopt;
  for (const RowSegment<T>& rows : block.below)
    for (std::int32_t i = 0; i < rows.rows; ++i) rows.data[i] *= inverse;
  PivotCounts counts;
  counts.eliminated = 1;
  counts.smallest = size;
  *block.row_order = 0;
  if (kind == FactorKind::kLu) {
    *block.column_order = 0;
    return counts;
  }
  counts.negative = is_negative(pivot) ? 1 : 0;
  block.d[0] = pivot;
  block.d[1] = 0;
  *block.diagonal = 1;
  return counts;
}

#define ESPALIER_INSTANTIATE(T)                            \
  template std::optional<PivotCounts> factor_single_pivot( \
      FactorKind, const PivotBlock<T>&, const PivotRule&);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver::kernels
