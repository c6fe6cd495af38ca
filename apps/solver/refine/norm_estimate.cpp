#include "solver/refine/norm_estimate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <utility>
#include <vector>

namespace espalier::solver {
namespace {

constexpr std::int32_t kSteps = 5;
constexpr std::int32_t kExact = 4;  // up to this order all columns are looked at

/// A block of signs, a bit each.
class Signs {
 public:
  Signs(std::int32_t rows, std::int32_t columns)
      : column_(static_cast<std::size_t>(columns),
                std::vector<bool>(static_cast<std::size_t>(rows))) {}

  void set(std::int32_t column, std::int32_t i, bool positive) {
    column_[column][i] = positive;
  }
  [[nodiscard]] double at(std::int32_t column, std::int32_t i) const {
    return column_[column][i] ? 1 : -1;
  }
  /// Whether two columns are the same but for a factor.
  [[nodiscard]] bool parallel(std::int32_t column, const Signs& other,
                              std::int32_t other_column) const {
    const std::vector<bool>& a = column_[column];
    const std::vector<bool>& b = other.column_[other_column];
    const auto same = std::ranges::mismatch(a, b).in1 == a.end();
    return same || std::ranges::equal(a, b, std::not_equal_to<>());
  }

 private:
  std::vector<std::vector<bool>> column_;
};

/// The two largest of numbers that are shown one by one: of equal ones the first.
class TwoLargest {
 public:
  struct Entry {
    std::int32_t index = -1;  // none
    double value = 0;
  };
  /// A number that is there already stays with the larger of its values.
  void add(Entry entry) {
    if (entry.index == first_.index || entry.index == second_.index) {
      Entry& same = entry.index == first_.index ? first_ : second_;
      same.value = std::max(same.value, entry.value);
    } else if (larger(entry, second_)) {
      second_ = entry;
    }
    if (larger(second_, first_)) std::swap(first_, second_);
  }
  [[nodiscard]] Entry first() const { return first_; }
  [[nodiscard]] Entry second() const { return second_; }

 private:
  static bool larger(const Entry& a, const Entry& b) {
    if (a.index < 0 || b.index < 0) return a.index >= 0;
    return a.value > b.value || (a.value == b.value && a.index < b.index);
  }
  Entry first_, second_;
};

// Algorithm 2.4 of [HT00] for t = 2. Of the two columns one is there at a time: of a
// product by B it is the norm and the signs that count, of one by B^T the rows with the
// largest entries.
class NormEstimator {
 public:
  NormEstimator(std::int32_t size, const BlockOperator& apply,
                const BlockOperator& apply_transposed, double enough)
      : n_(size),
        enough_(enough),
        apply_(apply),
        apply_transposed_(apply_transposed),
        x_(static_cast<std::size_t>(size)),
        signs_(size, kColumns),
        last_signs_(size, kColumns) {}

  double run() {
    double estimate = 0;
    for (std::int32_t step = 1;; ++step) {
      std::array<double, kColumns> norms{};
      for (std::int32_t column = 0; column < kColumns; ++column) {
        step == 1 ? fill_start(column) : fill_unit(column);
        norms[column] = multiply(column);
      }
      const std::int32_t column = largest(norms);
      if (!std::isfinite(norms[column])) return kInfinity;
      if (norms[column] <= estimate) return estimate;
      estimate = norms[column];
      if (estimate > enough_ || step > kSteps || !renew_signs(step > 1)) return estimate;
      const std::int32_t best = step > 1 ? unit_[column] : -1;
      if (!multiply_signs(best)) return kInfinity;
      if (!choose_units()) return estimate;
    }
  }

 private:
  static constexpr std::int32_t kColumns = 2;

  // The first block: the mean of all columns, and one of mixed signs.
  void fill_start(std::int32_t column) {
    for (double& each : x_) each = (column == 0 || (random_() & 1) != 0 ? 1. : -1.) / n_;
  }

  void fill_unit(std::int32_t column) {
    std::ranges::fill(x_, 0.0);
    x_[unit_[column]] = 1;
  }

  // x := B x, and its signs. @return its norm
  double multiply(std::int32_t column) {
    apply_(x_, 1);
    double norm = 0;
    for (std::int32_t i = 0; i < n_; ++i) {
      norm += std::abs(x_[i]);
      signs_.set(column, i, !(x_[i] < 0));
    }
    return norm;
  }

  // One that is not finite, if there is one.
  static std::int32_t largest(const std::array<double, kColumns>& norms) {
    return norms[1] <= norms[0] || !std::isfinite(norms[0]) ? 0 : 1;
  }

  // @return false: signs are those of the last step but for a factor
  bool renew_signs(bool have_last) {
    const auto repeats = [&](std::int32_t column) {
      return have_last && (signs_.parallel(column, last_signs_, 0) ||
                           signs_.parallel(column, last_signs_, 1));
    };
    if (repeats(0) && repeats(1)) return false;
    for (std::int32_t column = 0; column < kColumns; ++column)
      for (int attempt = 0; attempt < 10; ++attempt) {
        if (!repeats(column) && !(column == 1 && signs_.parallel(0, signs_, 1))) break;
        for (std::int32_t i = 0; i < n_; ++i) signs_.set(column, i, (random_() & 1) != 0);
      }
    return true;
  }

  // The rows of B^T times the signs with the largest entries, and those of the rows that
  // were tried. @return false: not finite
  bool multiply_signs(std::int32_t best) {
    largest_ = {};
    tried_gain_.assign(tried_.size(), 0);
    best_gain_ = 0;
    has_best_ = best >= 0;
    for (std::int32_t column = 0; column < kColumns; ++column) {
      for (std::int32_t i = 0; i < n_; ++i) x_[i] = signs_.at(column, i);
      apply_transposed_(x_, 1);
      if (!std::ranges::all_of(x_, [](double each) { return std::isfinite(each); }))
        return false;
      if (has_best_) best_gain_ = std::max(best_gain_, std::abs(x_[best]));
      for (std::size_t k = 0; k < tried_.size(); ++k) {
        tried_gain_[k] = std::max(tried_gain_[k], std::abs(x_[tried_[k]]));
        x_[tried_[k]] = kInfinity;  // out of the choice
      }
      for (std::int32_t i = 0; i < n_; ++i)
        if (std::isfinite(x_[i])) largest_.add({i, std::abs(x_[i])});
    }
    std::swap(signs_, last_signs_);
    return true;
  }

  // The unit vectors of most gain that have not been tried.
  // @return false: nothing is to be gained
  bool choose_units() {
    const TwoLargest::Entry first = largest_.first(), second = largest_.second();
    if (first.index < 0 || !promises_more(first.value) || second.index < 0) return false;
    unit_ = {first.index, second.index};
    tried_.insert(tried_.end(), unit_.begin(), unit_.end());
    return true;
  }

  [[nodiscard]] bool promises_more(double gain) const {
    if (has_best_ && best_gain_ >= gain) return false;
    return std::ranges::count_if(tried_gain_, [&](double each) { return each >= gain; }) <
           kColumns;
  }

  std::int32_t n_;
  double enough_;
  const BlockOperator& apply_;
  const BlockOperator& apply_transposed_;
  std::vector<double> x_;
  Signs signs_, last_signs_;  // of the step before
  std::array<std::int32_t, kColumns> unit_{};
  std::vector<std::int32_t> tried_;
  // Of the last product by B^T: |entries|, over both columns.
  TwoLargest largest_;
  std::vector<double> tried_gain_;
  double best_gain_ = 0;
  bool has_best_ = false;
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
                      const BlockOperator& apply_transposed, double enough) {
  if (size <= kExact) return exact_norm1(size, apply);
  return NormEstimator(size, apply, apply_transposed, enough).run();
}

Bytes norm_estimate_bytes(std::int32_t size) {
  // x, and four signs a row in whole words.
  return Bytes{size} * static_cast<Bytes>(sizeof(double)) + size / 2 + 1024;
}

}  // namespace espalier::solver
