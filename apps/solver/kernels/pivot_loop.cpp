#include "solver/kernels/pivot_loop.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "solver/kernels/magnitude.h"
#include "solver/matrix/multiversion.h"

namespace espalier::solver::kernels {
namespace {

template <class T>
ESPALIER_MULTIVERSION Bits<T> largest(std::int32_t n, const T* x) {
  return largest_magnitude(n, x);
}

}  // namespace

template <class T>
PivotLoop<T>::PivotLoop(const PivotBlock<T>& block, const PivotRule& rule,
                        std::span<T> scratch)
    : block_(block),
      rule_(rule),
      scratch_(scratch),
      replacement_(RealOf<T>(rule.replacement > 0 ? rule.replacement : rule.tiny)) {
  const std::int32_t w = block.width;
  for (std::int32_t k = 0; k < w; ++k) block.row_order[k] = k;
  if (!rule.take_all || replacement_ > 0) return;
  RealOf<T> size = 0;  // of the lower triangle, which both kinds have
  for (std::int32_t j = 0; j < w; ++j)
    size = std::max(size, modulus<T>(largest(w - j, at(j, j))));
  const RealOf<T> epsilon = std::numeric_limits<RealOf<T>>::epsilon() * size;
  replacement_ = epsilon > 0 && std::isfinite(epsilon) ? epsilon : RealOf<T>(1);
}

template <class T>
double PivotLoop<T>::bound() const {
  return strictness_ == Strictness::kThreshold
             ? 1 / rule_.threshold
             : double(std::numeric_limits<RealOf<T>>::max());
}

template <class T>
PivotCounts PivotLoop<T>::run() {
  const std::int32_t w = block_.width;
  std::int32_t done = 0, end = w;
  bool progress = false, sifted = false;
  InnerFactor<T> inner;
  while (done < w) {
    if (done == end) {  // a round is over: once more with those that failed
      if (!progress && !give_way()) break;
      end = w;
      progress = sifted = false;
    }
    inner.count = compose(done, end);
    for (std::int32_t k = 0; k < inner.count; ++k) inner.order[k] = k;
    const std::int32_t kept = eliminate(done, inner);
    for (std::int32_t k = 0; k < kept; ++k) {
      counts_.perturbed += inner.perturbed[k];
      if (!inner.perturbed[k])
        counts_.smallest = std::min(counts_.smallest, inner.size[k]);
    }
    progress |= kept > 0;
    end = set_aside(done, end, kept, inner);
    done += kept;
    if (kept == 0 || (kept < inner.rank && !sifted)) {
      end = set_aside_hopeless(done, end);
      sifted = true;
    }
  }
  counts_.eliminated = done;
  return counts_;
}

template <class T>
bool PivotLoop<T>::give_way() {
  if (!rule_.take_all || strictness_ == Strictness::kForced) return false;
  strictness_ =
      strictness_ == Strictness::kThreshold ? Strictness::kNonzero : Strictness::kForced;
  return true;
}

// Columns without a pivot failed, and those of the first pivot that was not kept; the
// others get another try in company.
template <class T>
std::int32_t PivotLoop<T>::set_aside(std::int32_t first, std::int32_t end,
                                     std::int32_t kept, const InnerFactor<T>& inner) {
  const bool pair = kept < inner.rank && inner.symmetric && inner.d[2 * kept + 1] != T(0);
  const std::int32_t next = std::min(inner.rank, kept + (pair ? 2 : 1));
  for (std::int32_t k = inner.count; k-- > kept;)
    if (k >= inner.rank || k < next) exchange(first + k, --end);
  return end;
}

template <class T>
std::int32_t PivotLoop<T>::set_aside_hopeless(std::int32_t done, std::int32_t end) {
  if (strictness_ != Strictness::kThreshold) return end;
  for (std::int32_t j = end; j-- > done;) {
    const double most = double(pivot_reach(j, done)) / rule_.threshold;
    for (const RowSegment<T>& rows : block_.below) {
      const T* const column = rows.data + std::int64_t{j} * rows.leading;
      if (double(modulus<T>(largest(rows.rows, column))) <= most) continue;
      exchange(j, --end);
      break;
    }
  }
  return end;
}

template <class T>
void PivotLoop<T>::exchange(std::int32_t p, std::int32_t q) {
  if (p == q) return;
  exchange_diagonal(p, q);
  for (const RowSegment<T>& rows : block_.below) {
    T* const column = rows.data + std::int64_t{p} * rows.leading;
    std::swap_ranges(column, column + rows.rows,
                     rows.data + std::int64_t{q} * rows.leading);
  }
}

#define ESPALIER_INSTANTIATE(T) template class PivotLoop<T>;
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver::kernels
