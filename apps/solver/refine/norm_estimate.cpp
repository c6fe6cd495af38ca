#include "solver/refine/norm_estimate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace espalier::solver {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int32_t kSteps = 5;
constexpr std::int32_t kExact = 4;  // up to this order all columns are looked at

// Algorithm 2.4 of [HT00] for t = 2.
class NormEstimator {
 public:
  NormEstimator(std::int32_t size, const BlockOperator& apply,
                const BlockOperator& apply_transposed)
      : n_(size),
        apply_(apply),
        apply_transposed_(apply_transposed),
        block_(static_cast<std::size_t>(kColumns) * size),
        signs_(block_.size()) {}

  double run() {
    start();
    double estimate = 0;
    for (std::int32_t step = 1;; ++step) {
      apply_(block_, kColumns);
      const std::int32_t column = largest_column();
      const double norm = norm_of(column);
      if (!std::isfinite(norm)) return kInfinity;
      if (norm <= estimate) return estimate;
      estimate = norm;
      if (step > kSteps || !take_signs(step > 1)) return estimate;
      apply_transposed_(block_, kColumns);
      const std::int32_t best = step > 1 ? unit_[column] : -1;
      if (!choose_units(best)) return estimate;
    }
  }

 private:
  static constexpr std::int32_t kColumns = 2;

  [[nodiscard]] double& at(std::int32_t i, std::int32_t column) {
    return block_[i + static_cast<std::size_t>(column) * n_];
  }
  [[nodiscard]] std::int8_t& sign(std::int32_t i, std::int32_t column) {
    return signs_[i + static_cast<std::size_t>(column) * n_];
  }

  void start() {
    draw_signs(1);
    for (std::int32_t i = 0; i < n_; ++i) {
      at(i, 0) = 1. / n_;
      at(i, 1) /= n_;
    }
  }

  void draw_signs(std::int32_t column) {
    for (std::int32_t i = 0; i < n_; ++i) at(i, column) = random_() & 1 ? 1 : -1;
  }

  double norm_of(std::int32_t column) {
    double sum = 0;
    for (std::int32_t i = 0; i < n_; ++i) sum += std::abs(at(i, column));
    return sum;
  }

  // One that is not finite, if there is one.
  std::int32_t largest_column() {
    return norm_of(1) <= norm_of(0) || !std::isfinite(norm_of(0)) ? 0 : 1;
  }

  // block := its signs. @return false: they are those of the last step but for a factor
  bool take_signs(bool have_last) {
    for (double& each : block_) each = each < 0 ? -1 : 1;
    if (have_last && repeats_last(0) && repeats_last(1)) return false;
    const auto stale = [&](std::int32_t column) {
      return (have_last && repeats_last(column)) || (column == 1 && columns_parallel());
    };
    for (std::int32_t column = 0; column < kColumns; ++column)
      for (int attempt = 0; attempt < 10 && stale(column); ++attempt) draw_signs(column);
    for (std::size_t k = 0; k < block_.size(); ++k)
      signs_[k] = static_cast<std::int8_t>(block_[k]);
    return true;
  }

  bool repeats_last(std::int32_t column) {
    for (std::int32_t last = 0; last < kColumns; ++last) {
      std::int64_t product = 0;
      for (std::int32_t i = 0; i < n_; ++i)
        product += at(i, column) > 0 ? sign(i, last) : -sign(i, last);
      if (std::abs(product) == n_) return true;
    }
    return false;
  }

  bool columns_parallel() {
    std::int32_t equal = 0;
    for (std::int32_t i = 0; i < n_; ++i) equal += at(i, 0) == at(i, 1);
    return equal == 0 || equal == n_;
  }

  // The most that the norm may grow by towards unit vector i.
  double gain(std::int32_t i) { return std::max(std::abs(at(i, 0)), std::abs(at(i, 1))); }

  [[nodiscard]] bool seen(std::int32_t i) const {
    return std::ranges::find(seen_, i) != seen_.end();
  }

  // block := the unit vectors of most gain that have not been tried.
  // @return false: nothing is to be gained
  bool choose_units(std::int32_t best) {
    for (std::int32_t column = 0; column < kColumns; ++column) {
      std::int32_t chosen = -1;
      for (std::int32_t i = 0; i < n_; ++i)
        if ((chosen < 0 || gain(i) > gain(chosen)) && !seen(i)) chosen = i;
      if (chosen < 0) return false;
      if (column == 0 && !promises_more(chosen, best)) return false;
      unit_[column] = chosen;
      seen_.push_back(chosen);
    }
    std::ranges::fill(block_, 0.0);
    for (std::int32_t column = 0; column < kColumns; ++column)
      at(unit_[column], column) = 1;
    return true;
  }

  bool promises_more(std::int32_t chosen, std::int32_t best) {
    if (best >= 0 && gain(best) >= gain(chosen)) return false;
    const auto better = [&](std::int32_t i) { return gain(i) >= gain(chosen); };
    return std::ranges::count_if(seen_, better) < kColumns;
  }

  std::int32_t n_;
  const BlockOperator& apply_;
  const BlockOperator& apply_transposed_;
  std::vector<double> block_;
  std::vector<std::int8_t> signs_;  // of the last step
  std::array<std::int32_t, kColumns> unit_{};
  std::vector<std::int32_t> seen_;
  std::minstd_rand random_{1};
};

double exact_norm1(std::int32_t n, const BlockOperator& apply) {
  std::vector<double> columns(static_cast<std::size_t>(n) * n);
  for (std::int32_t i = 0; i < n; ++i) columns[i + i * n] = 1;
  if (n > 0) apply(columns, n);
  double norm = 0;
  for (std::int32_t j = 0; j < n; ++j) {
    double sum = 0;
    for (std::int32_t i = 0; i < n; ++i) sum += std::abs(columns[i + j * n]);
    if (!std::isfinite(sum)) return kInfinity;
    norm = std::max(norm, sum);
  }
  return norm;
}

}  // namespace

double estimate_norm1(std::int32_t size, const BlockOperator& apply,
                      const BlockOperator& apply_transposed) {
  if (size <= kExact) return exact_norm1(size, apply);
  return NormEstimator(size, apply, apply_transposed).run();
}

}  // namespace espalier::solver
