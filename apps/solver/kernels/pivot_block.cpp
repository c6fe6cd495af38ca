#include "solver/kernels/pivot_block.h"

#include "espalier/model/error.h"
#include "solver/kernels/dense.h"
#include "solver/kernels/inner_factor.h"
#include "solver/kernels/narrow_ldlt.h"
#include "solver/kernels/narrow_lu.h"
#include "solver/kernels/pivot_loop.h"
#include "solver/kernels/single_pivot.h"

namespace espalier::solver::kernels {
namespace {

template <class T>
PivotCounts factor_cholesky_block(const PivotBlock<T>& block) {
  const std::int32_t failed = cholesky(block.width, block.diagonal, block.leading);
  PivotCounts counts;
  counts.eliminated = failed ? failed - 1 : block.width;
  if (failed) return counts;
  for (const RowSegment<T>& rows : block.below)
    solve_below(rows.rows, block.width, block.diagonal, block.leading, rows.data,
                rows.leading);
  return counts;
}

}  // namespace

template <class T>
PivotCounts factor_pivot_block(FactorKind kind, const PivotBlock<T>& block,
                               const PivotRule& rule,
                               std::span<std::type_identity_t<T>> scratch) {
  ESPALIER_ASSERT(std::ssize(scratch) >= pivot_scratch(kind, block.width),
                  "scratch is short");
  ESPALIER_ASSERT(rule.threshold > 0 && rule.threshold <= 1, "threshold not in (0, 1]");
  if (block.width == 1 && kind != FactorKind::kCholesky)
    if (const auto counts = factor_single_pivot(kind, block, rule)) return *counts;
  switch (kind) {
    case FactorKind::kCholesky:
      return factor_cholesky_block(block);
    case FactorKind::kLdlt:
      if (const auto counts = factor_narrow_ldlt(block, rule, scratch)) return *counts;
      return factor_ldlt_block(block, rule, scratch);
    case FactorKind::kLu:
      if (const auto counts = factor_narrow_lu(block, rule, scratch)) return *counts;
      return factor_lu_block(block, rule, scratch);
  }
  return {};
}

// One inner block of columns: those of the diagonal block, then a chunk of rows.
std::int64_t pivot_scratch(FactorKind kind, std::int32_t width) {
  if (kind == FactorKind::kCholesky) return 0;
  return (std::int64_t{width} + kChunk) * kInner;
}

#define ESPALIER_INSTANTIATE(T)                                             \
  template PivotCounts factor_pivot_block(FactorKind, const PivotBlock<T>&, \
                                          const PivotRule&, std::span<T>);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver::kernels
