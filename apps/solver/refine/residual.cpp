#include "solver/refine/residual.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace espalier::solver {
namespace {

constexpr double kRoundoff = std::numeric_limits<double>::epsilon() / 2;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// op(A) as its pattern and the values of the two triangles: of (i, j) and of (j, i).
struct View {
  View(const MatrixPart& a, Operation operation)
      : part(a),
        transposed(operation == Operation::kTransposed),
        pattern(a.here().lower),
        below(pattern.value.data()),
        above(a.here().symmetric() ? below : a.here().upper.data()) {
    if (transposed) std::swap(below, above);
  }
  const MatrixPart& part;
  bool transposed;
  const SymmetricMatrix& pattern;
  const double* below;
  const double* above;
};

// Calls entry(i, j, value) for each entry of op(A) below and above the diagonal and on
// it, by columns of the lower triangle; opposite entries one after the other;
// then for those of the coupling.
template <class Entry>
void for_each_entry(const View& a, const Entry& entry) {
  const std::int64_t* const start = a.pattern.column_start.data();
  const std::int32_t* const row = a.pattern.row.data();
  const std::int32_t inner = a.part.inner();
  for (std::int32_t j = 0; j < inner; ++j) {
    std::int64_t k = start[j];
    std::int64_t end = start[j + 1];
    if (inner < a.pattern.size) end = std::lower_bound(row + k, row + end, inner) - row;
    if (k < end && row[k] == j) {
      entry(j, j, a.below[k]);
      ++k;
    }
    for (; k < end; ++k) {
      entry(row[k], j, a.below[k]);
      entry(j, row[k], a.above[k]);
    }
  }
  for (std::int32_t i = inner; i < a.pattern.size; ++i) entry(i, i, 1.0);
  a.part.for_each_coupling([&](std::int32_t i, std::int32_t j, double value) {
    a.transposed ? entry(j, i, value) : entry(i, j, value);
  });
}

void subtract_product(const View& a, std::span<const double> x, std::span<double> r) {
  for_each_entry(
      a, [&](std::int32_t i, std::int32_t j, double value) { r[i] -= value * x[j]; });
}

}  // namespace

void MatrixPart::sum(std::span<std::int32_t> counts) const {
  if (!sum_) return;
  std::array<double, 1024> piece{};
  while (!counts.empty()) {
    const std::size_t n = std::min(counts.size(), piece.size());
    std::copy_n(counts.begin(), n, piece.begin());
    sum_(std::span(piece).first(n));
    for (std::size_t k = 0; k < n; ++k) counts[k] = static_cast<std::int32_t>(piece[k]);
    counts = counts.subspan(n);
  }
}

void multiply(const MatrixPart& a, Operation operation, std::span<const double> x,
              std::span<double> y) {
  std::fill(y.begin(), y.end(), 0.0);
  subtract_product({a, operation}, x, y);
  for (double& each : y) each = -each;
  a.sum(y);
}

void multiply_moduli(const MatrixPart& a, Operation operation, std::span<const double> x,
                     std::span<double> y) {
  std::fill(y.begin(), y.end(), 0.0);
  for_each_entry({a, operation}, [&](std::int32_t i, std::int32_t j, double value) {
    y[i] += std::abs(value * x[j]);
  });
  a.sum(y);
}

void residual(const MatrixPart& a, Operation operation, std::span<const double> x,
              std::span<const double> b, std::span<double> r) {
  std::transform(b.begin(), b.end(), r.begin(), [&](double v) { return a.start(v); });
  subtract_product({a, operation}, x, r);
  a.sum(r);
}

void residual_rounding(const MatrixPart& a, Operation operation,
                       std::span<const double> x, std::span<const double> b,
                       std::span<double> bound) {
  std::vector<std::int32_t> entries(a.size(), 0);
  for (std::size_t i = 0; i < bound.size(); ++i) bound[i] = a.start(std::abs(b[i]));
  for_each_entry({a, operation}, [&](std::int32_t i, std::int32_t j, double value) {
    bound[i] += std::abs(value * x[j]);
    ++entries[i];
  });
  a.sum(bound);
  a.sum(entries);
  for (std::size_t i = 0; i < bound.size(); ++i) bound[i] *= (entries[i] + 1) * kRoundoff;
}

ErrorMeasure::ErrorMeasure(const MatrixPart& a, Operation operation,
                           const GivenUnknowns& given)
    : a_(a),
      operation_(operation),
      given_(given),
      row_sum_(a.size()),
      denominator_(a.size()) {
  const View view(a, operation);
  if (given.scale.empty())
    for_each_entry(view, [&](std::int32_t i, std::int32_t, double value) {
      row_sum_[i] += std::abs(value);
    });
  else
    for_each_entry(view, [&](std::int32_t i, std::int32_t j, double value) {
      row_sum_[i] += std::abs(value) / given.scale[j];
    });
  a.sum(row_sum_);
  const std::int32_t last =
      given.block.empty() ? 0 : *std::ranges::max_element(given.block);
  blocks_.resize(static_cast<std::size_t>(last) + 1);
  for (std::size_t i = 0; i < row_sum_.size(); ++i) block(i).small += 1000 * kRoundoff;
}

BackwardError ErrorMeasure::operator()(std::span<const double> x,
                                       std::span<const double> b, std::span<double> r) {
  std::vector<double>& w = denominator_;
  for (Block& each : blocks_) each.x_norm = 0;
  bool finite = true;
  for (std::size_t i = 0; i < w.size(); ++i) {
    r[i] = a_.start(b[i]);
    w[i] = a_.start(std::abs(b[i]));
    double& x_norm = block(i).x_norm;
    x_norm = std::max(x_norm, std::abs(x[i]) * scale(i));
    finite = finite && std::isfinite(x[i]);
  }
  for_each_entry({a_, operation_}, [&](std::int32_t i, std::int32_t j, double value) {
    const double product = value * x[j];
    r[i] -= product;
    w[i] += std::abs(product);
  });
  a_.sum(r);
  a_.sum(w);
  if (!finite) return {kInfinity, 0};  // an empty column of A would not show it
  BackwardError error;
  for (std::size_t i = 0; i < w.size(); ++i) {
    if (!std::isfinite(w[i])) return {kInfinity, 0};
    const Block& own = block(i);
    const double row = row_sum_[i] * own.x_norm;
    const bool first = w[i] > own.small * (row + std::abs(b[i])) || !std::isfinite(row);
    if (!first) {
      if (r[i] != 0) error.strict = std::max(error.strict, std::abs(r[i]) / w[i]);
      w[i] += row - std::abs(b[i]);
    }
    if (r[i] == 0) continue;
    double& omega = first ? error.omega1 : error.omega2;
    omega = std::max(omega, std::abs(r[i]) / w[i]);
  }
  return error;
}

}  // namespace espalier::solver
