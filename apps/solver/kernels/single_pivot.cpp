#include "solver/kernels/single_pivot.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace espalier::solver::kernels {

template <class T>
std::optional<PivotCounts> factor_single_pivot(FactorKind kind,
                                               const PivotBlock<T>& block,
                                               const PivotRule& rule) {
  const T pivot = *block.diagonal, inverse = 1 / pivot;
  const auto size = std::abs(static_cast<double>(pivot));
  if (!(size > rule.tiny) || !std::isfinite(size) || !std::isnormal(inverse))
    return std::nullopt;
  const auto bound = static_cast<T>(
      std::min(1 / rule.threshold, static_cast<double>(std::numeric_limits<T>::max())));
  bool over = false;
  for (const RowSegment<T>& rows : block.below)
    for (std::int32_t i = 0; i < rows.rows; ++i)
      over |= !(std::abs(rows.data[i] * inverse) <= bound);
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
  counts.negative = pivot < 0 ? 1 : 0;
  block.d[0] = pivot;
  block.d[1] = 0;
  *block.diagonal = 1;
  return counts;
}

template std::optional<PivotCounts> factor_single_pivot(FactorKind,
                                                        const PivotBlock<double>&,
                                                        const PivotRule&);
template std::optional<PivotCounts> factor_single_pivot(FactorKind,
                                                        const PivotBlock<float>&,
                                                        const PivotRule&);

}  // namespace espalier::solver::kernels
