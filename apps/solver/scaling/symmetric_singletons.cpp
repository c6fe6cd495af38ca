#include "solver/scaling/symmetric_singletons.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "espalier/model/numbers.h"

namespace espalier::solver {
namespace {

constexpr std::int32_t kNoPlace = -1;

class Peeling {
 public:
  explicit Peeling(const GeneralMatrix& both)
      : a_(both), left_(both.size), diagonal_(both.size, false) {
    found_.partner.resize(both.size);
    std::iota(found_.partner.begin(), found_.partner.end(), 0);
    for (std::int32_t j = 0; j < a_.size; ++j) {
      left_[j] = static_cast<std::int32_t>(a_.column_start[j + 1] - a_.column_start[j]);
      for (auto at = a_.column_start[j]; at < a_.column_start[j + 1]; ++at)
        if (a_.row[at] == j) diagonal_[j] = true;
    }
  }

  SymmetricSingletons run() && {
    for (std::int32_t i = 0; i < a_.size; ++i) look_at(i);
    for (std::size_t k = 0; k < open_.size() && !empty_row_; ++k)  // grows on the way
      if (!taken(open_[k])) take(open_[k]);
    if (!empty_row_) return std::move(found_);
    std::iota(found_.partner.begin(), found_.partner.end(), 0);
    found_.row.clear();
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool taken(std::int32_t i) const { return found_.partner[i] != i; }

  void look_at(std::int32_t i) {
    if (diagonal_[i]) return;
    if (left_[i] == 0) empty_row_ = true;
    if (left_[i] == 1) open_.push_back(i);
  }

  void take(std::int32_t row) {
    auto at = a_.column_start[row];
    while (taken(a_.row[at])) ++at;
    const std::int32_t column = a_.row[at];
    if (a_.value[at] == 0 || !std::isfinite(a_.value[at])) return;
    found_.partner[row] = column;
    found_.partner[column] = row;
    found_.row.push_back(row);
    for (auto k = a_.column_start[column]; k < a_.column_start[column + 1]; ++k)
      if (const std::int32_t other = a_.row[k]; !taken(other)) {
        --left_[other];
        look_at(other);
      }
  }

  const GeneralMatrix& a_;
  SymmetricSingletons found_;
  std::vector<std::int32_t> left_;  // entries of each row whose columns are not taken
  std::vector<bool> diagonal_;
  std::vector<std::int32_t> open_;  // rows with one entry left, once
  bool empty_row_ = false;
};

double log_of(double value) { return std::log2(std::abs(value)); }

// Above log2|value|, from its exponent alone: most of what a largest one is looked for
// among needs no more.
double log_above(double value) {
  constexpr std::uint64_t kExponent = 0x7ff;
  constexpr double kExponentBias = 1023;
  const auto exponent = (std::bit_cast<std::uint64_t>(value) >> 52) & kExponent;
  return static_cast<double>(exponent) + 1 - kExponentBias;
}

}  // namespace

SymmetricSingletons symmetric_singletons(const GeneralMatrix& both) {
  return Peeling(both).run();
}

void scale_singletons(const GeneralMatrix& both, const SymmetricSingletons& singletons,
                      std::span<double> log) {
  const std::vector<std::int32_t>& partner = singletons.partner;
  std::vector<std::int32_t> place(both.size, kNoPlace);  // of rows r among the pairs
  for (std::size_t k = 0; k < singletons.row.size(); ++k)
    place[singletons.row[k]] = static_cast<std::int32_t>(k);
  const auto is_row = [&](std::int32_t i) { return place[i] != kNoPlace; };
  const auto is_left = [&](std::int32_t i) { return partner[i] == i; };
  const auto each_entry = [&](std::int32_t column, const auto& visit) {
    for (auto at = both.column_start[column]; at < both.column_start[column + 1]; ++at)
      if (both.value[at] != 0) visit(both.row[at], both.value[at]);
  };
  std::vector<double> pivot(singletons.row.size());
  for (std::size_t k = 0; k < pivot.size(); ++k) {
    const std::int32_t row = singletons.row[k], column = partner[row];
    double own = 0;  // modulus of the columns' entries in each other's rows
    each_entry(column, [&](std::int32_t i, double value) {
      if (i == row) pivot[k] = log_of(value);
      if (!is_row(i) && !is_left(i)) own = std::max(own, std::abs(value));
    });
    log[column] = own > 0 ? -log_of(own) / 2 : -pivot[k] / 2;
    each_entry(row, [&](std::int32_t i, double value) {
      if (i != column && log[i] + log_above(value) - pivot[k] > log[column])
        log[column] = std::max(log[column], log[i] + log_of(value) - pivot[k]);
    });
  }
  double over = -kInfinity;
  for (const std::int32_t row : singletons.row) {
    const std::int32_t column = partner[row];
    each_entry(column, [&](std::int32_t i, double value) {
      if (is_row(i)) return;
      const double part = is_left(i) ? 1 : 0.5, logs = log[column] + log[i];
      if (part * (logs + log_above(value)) > over)
        over = std::max(over, part * (logs + log_of(value)));
    });
  }
  if (over == -kInfinity) over = 0;
  for (std::size_t k = 0; k < pivot.size(); ++k) {
    const std::int32_t row = singletons.row[k], column = partner[row];
    log[column] -= over;
    log[row] = -pivot[k] - log[column];
  }
}

}  // namespace espalier::solver
