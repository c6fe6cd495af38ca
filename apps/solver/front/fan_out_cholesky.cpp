#include "solver/front/fan_out_cholesky.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "espalier/model/error.h"
#include "solver/front/flush_subnormals.h"
#include "solver/kernels/dense.h"
#include "solver/kernels/multiversion.h"
#include "solver/kernels/update.h"

namespace espalier::solver {
namespace {

// Pivots of a front from which on its product with itself is made as a whole.
constexpr std::int32_t kWide = 9;
// Pivots up to which its panel is factored by loops over whole columns.
constexpr std::int32_t kNarrow = 16;

// Column by column, the rows below with the pivots. @return pivots that were positive
ESPALIER_MULTIVERSION std::int32_t eliminate_columns(std::int32_t pivots,
                                                     std::int32_t order, double* panel,
                                                     double* inverses) {
  for (std::int32_t j = 0; j < pivots; ++j) {
    double* const column = panel + std::int64_t{j} * order;
    if (!(column[j] > 0) || std::isinf(column[j])) return j;
    const double root = std::sqrt(column[j]), inverse = 1 / root;
    column[j] = root;
    inverses[j] = inverse;
    for (std::int32_t i = j + 1; i < order; ++i) column[i] *= inverse;
    for (std::int32_t k = j + 1; k < pivots; ++k) {
      double* const target = panel + std::int64_t{k} * order;
      const double factor = column[k];
#pragma GCC ivdep
      for (std::int32_t i = k; i < order; ++i) target[i] -= factor * column[i];
    }
  }
  return pivots;
}

// So many columns of a panel, of which `row` is one of the rows below, from it on: times
// their entries there, from the places of a column.
template <int kColumns>
[[gnu::always_inline]] inline void subtract_columns(std::int32_t count, const double* row,
                                                    std::int64_t order,
                                                    const std::int32_t* place,
                                                    bool joined, double* column) {
  double factor[kColumns];
  for (int c = 0; c < kColumns; ++c) factor[c] = row[c * order];
  const auto product = [&](std::int32_t i) {
    double sum = factor[0] * row[i];
    for (int c = 1; c < kColumns; ++c) sum += factor[c] * row[c * order + i];
    return sum;
  };
  if (joined) {
    double* const target = column + place[0];
#pragma GCC ivdep
    for (std::int32_t i = 0; i < count; ++i) target[i] -= product(i);
  } else {
    for (std::int32_t i = 0; i < count; ++i) column[place[i]] -= product(i);
  }
}

ESPALIER_MULTIVERSION void subtract_row(std::int32_t pivots, std::int32_t count,
                                        const double* row, std::int64_t order,
                                        const std::int32_t* place, bool joined,
                                        double* column) {
  for (; pivots >= 4; pivots -= 4, row += 4 * order)
    subtract_columns<4>(count, row, order, place, joined, column);
  if (pivots == 3) subtract_columns<3>(count, row, order, place, joined, column);
  if (pivots == 2) subtract_columns<2>(count, row, order, place, joined, column);
  if (pivots == 1) subtract_columns<1>(count, row, order, place, joined, column);
}

}  // namespace

bool FanOutCholesky::suits(const Symbolic& symbolic, const AssemblyTree& tree) {
  if (tree.kind != FactorKind::kCholesky || tree.nodes.size() != 1 ||
      tree.nodes[0].tiled || tree.nodes[0].factor_at >= 0 || symbolic.kept() > 0)
    return false;
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s)
    if (symbolic.pivots(s) == 0 || symbolic.pivots(s) > tree.block_width[s]) return false;
  return true;
}

FanOutCholesky::FanOutCholesky(const Symbolic& symbolic, const AssemblyTree& tree,
                               const SymmetricMatrix& pattern)
    : rows_(symbolic.rows), inverse_(static_cast<std::size_t>(symbolic.size)) {
  ESPALIER_ASSERT(suits(symbolic, tree), "what suits() is asked first");
  std::vector<std::int32_t> front_of(static_cast<std::size_t>(symbolic.size));
  std::int64_t widest = 0;
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s) {
    const std::int32_t first = symbolic.first_column[s], pivots = symbolic.pivots(s);
    const std::int32_t order = symbolic.front_order(s);
    fronts_.push_back(
        {first, pivots, order, entries_, rows_.data() + symbolic.row_start[s], 0, 0});
    std::fill_n(front_of.begin() + first, pivots, s);
    entries_ += std::int64_t{order} * pivots;
    if (pivots >= kWide) widest = std::max<std::int64_t>(widest, order - pivots);
  }
  product_.resize(static_cast<std::size_t>(widest * widest));
  for (Front& front : fronts_) add_targets(symbolic, front_of, front);
  place_of_entry_.reserve(pattern.row.size());
  for (std::int32_t j = 0; j < pattern.size; ++j) {
    const Front& front = fronts_[front_of[j]];
    const std::int64_t column =
        front.offset + std::int64_t{j - front.first} * front.order;
    for (auto k = pattern.column_start[j]; k < pattern.column_start[j + 1]; ++k)
      place_of_entry_.push_back(column + place_in(front_of[j], pattern.row[k]));
  }
}

// Of a row in the panel of a front that has it.
std::int32_t FanOutCholesky::place_in(std::int32_t front, std::int32_t row) const {
  const Front& own = fronts_[front];
  if (row < own.first + own.pivots) return row - own.first;
  const std::int32_t* const end = own.rows + (own.order - own.pivots);
  const std::int32_t* const found = std::lower_bound(own.rows, end, row);
  ESPALIER_ASSERT(found != end && *found == row, "a front has its children's rows");
  return own.pivots + static_cast<std::int32_t>(found - own.rows);
}

void FanOutCholesky::add_targets(const Symbolic& symbolic,
                                 std::span<const std::int32_t> front_of, Front& front) {
  const std::int32_t below = front.order - front.pivots;
  front.targets_begin = static_cast<std::int32_t>(targets_.size());
  for (std::int32_t begin = 0, end = 0; begin < below; begin = end) {
    const std::int32_t t = front_of[front.rows[begin]];
    while (end < below && front.rows[end] < symbolic.first_column[t + 1]) ++end;
    const Front& target = fronts_[t];
    const auto places = static_cast<std::int32_t>(places_.size());
    for (std::int32_t i = begin; i < below; ++i)
      places_.push_back(place_in(t, front.rows[i]));
    const bool joined = places_.back() - places_[places] == below - begin - 1;
    const std::int64_t column =
        target.offset + std::int64_t{front.rows[begin] - target.first} * target.order;
    targets_.push_back({begin, end, column, target.order, places, joined});
  }
  front.targets_end = static_cast<std::int32_t>(targets_.size());
}

Factor<double> FanOutCholesky::make_factor(const Symbolic& symbolic,
                                           const AssemblyTree& tree) const {
  Factor<double> factor(symbolic, tree);
  factor.storage[0] = PageBuffer(tree.nodes[0].factor_bytes);
  for (std::size_t s = 0; s < fronts_.size(); ++s)
    factor.front[s].offset = fronts_[s].offset;
  return factor;
}

void FanOutCholesky::put(const SymmetricMatrix& a, double* panels) const {
  std::fill_n(panels, entries_, 0.0);
  for (std::size_t k = 0; k < place_of_entry_.size(); ++k)
    panels[place_of_entry_[k]] = a.value[k];
}

// @return pivots that were positive
std::int32_t FanOutCholesky::eliminate(const Front& front, double* panel) {
  const std::int32_t p = front.pivots, order = front.order;
  double* const inverse = inverse_.data() + front.first;
  if (p <= kNarrow) return eliminate_columns(p, order, panel, inverse);
  const std::int32_t failed = kernels::cholesky(p, panel, order);
  if (failed != 0) return failed - 1;
  kernels::solve_below(order - p, p, panel, order, panel + p, order);
  for (std::int32_t k = 0; k < p; ++k)
    inverse[k] = 1 / panel[k * (std::int64_t{order} + 1)];
  return p;
}

void FanOutCholesky::subtract(const Front& front, double* panels) {
  const double* const below = panels + front.offset + front.pivots;
  const std::int32_t rows = front.order - front.pivots;
  for (std::int32_t t = front.targets_begin; t < front.targets_end; ++t) {
    const Target& target = targets_[t];
    const std::int32_t* place = places_.data() + target.places;
    for (std::int32_t q = target.begin; q < target.end; ++q, ++place) {
      double* const column =
          panels + target.column +
          std::int64_t{front.rows[q] - front.rows[target.begin]} * target.order;
      subtract_row(front.pivots, rows - q, below + q, front.order, place, target.joined,
                   column);
    }
  }
}

// The product has the other sign: kernels subtract.
void FanOutCholesky::subtract_wide(const Front& front, double* panels) {
  const std::int32_t rows = front.order - front.pivots;
  if (rows == 0) return;
  std::fill_n(product_.begin(), std::int64_t{rows} * rows, 0.0);
  kernels::update_lower(rows, rows, front.pivots, panels + front.offset + front.pivots,
                        front.order, product_.data(), rows);
  for (std::int32_t t = front.targets_begin; t < front.targets_end; ++t) {
    const Target& target = targets_[t];
    const std::int32_t* place = places_.data() + target.places;
    for (std::int32_t q = target.begin; q < target.end; ++q, ++place) {
      double* const column =
          panels + target.column +
          std::int64_t{front.rows[q] - front.rows[target.begin]} * target.order;
      const double* const source = product_.data() + q * (std::int64_t{rows} + 1);
      for (std::int32_t i = 0; i < rows - q; ++i) column[place[i]] += source[i];
    }
  }
}

// @param good  pivots that were positive
// @return those that are more than rounding, too
std::int32_t FanOutCholesky::check_pivots(const SymmetricMatrix& a, const Front& front,
                                          std::int32_t good, double least_part,
                                          const double* panel, double& smallest) const {
  for (std::int32_t k = 0; k < good; ++k) {
    const double root = panel[k * (std::int64_t{front.order} + 1)];
    const std::int64_t given = a.column_start[front.first + k];
    const bool stored =
        given < a.column_start[front.first + k + 1] && a.row[given] == front.first + k;
    const double part = stored ? root * root / a.value[given] : 1;
    if (part <= least_part) return k;
    smallest = std::min(smallest, part);
  }
  return good;
}

FanOutCholesky::Outcome FanOutCholesky::factorise(const SymmetricMatrix& a,
                                                  double least_part,
                                                  Factor<double>& factor) {
  const FlushSubnormals flush;
  auto* const panels = factor.storage[0].as<double>();
  put(a, panels);
  Outcome outcome{{}, std::numeric_limits<double>::infinity()};
  for (const Front& front : fronts_) {
    double* const panel = panels + front.offset;
    const std::int32_t good = check_pivots(a, front, eliminate(front, panel), least_part,
                                           panel, outcome.smallest);
    if (good < front.pivots) {
      outcome.failed = {front.first + good};
      break;
    }
    if (front.pivots < kWide)
      subtract(front, panels);
    else
      subtract_wide(front, panels);
  }
  return outcome;
}

namespace {

// x of the pivots, and what it takes from the rows below.
[[gnu::always_inline]] inline void forward(std::int32_t pivots, std::int32_t order,
                                           const double* panel, const double* inverse,
                                           const std::int32_t* rows, double* own,
                                           double* x) {
  for (std::int32_t j = 0; j < pivots; ++j, panel += order) {
    const double value = own[j] *= inverse[j];
    for (std::int32_t i = j + 1; i < pivots; ++i) own[i] -= panel[i] * value;
    for (std::int32_t i = pivots; i < order; ++i) x[rows[i - pivots]] -= panel[i] * value;
  }
}

[[gnu::always_inline]] inline void backward(std::int32_t pivots, std::int32_t order,
                                            const double* panel, const double* inverse,
                                            const std::int32_t* rows, double* own,
                                            const double* x) {
  panel += std::int64_t{pivots} * order;
  for (std::int32_t j = pivots; j-- > 0;) {
    panel -= order;
    double even = own[j], odd = 0;
    for (std::int32_t i = j + 1; i < pivots; ++i) odd += panel[i] * own[i];
    for (std::int32_t i = pivots; i < order; ++i) even -= panel[i] * x[rows[i - pivots]];
    own[j] = (even - odd) * inverse[j];
  }
}

}  // namespace

void FanOutCholesky::solve(const Factor<double>& factor, std::span<double> x) const {
  const auto* const panels = factor.storage[0].as<double>();
  for (const Front& front : fronts_)
    forward(front.pivots, front.order, panels + front.offset,
            inverse_.data() + front.first, front.rows, x.data() + front.first, x.data());
  for (auto front = fronts_.rbegin(); front != fronts_.rend(); ++front)
    backward(front->pivots, front->order, panels + front->offset,
             inverse_.data() + front->first, front->rows, x.data() + front->first,
             x.data());
}

}  // namespace espalier::solver
