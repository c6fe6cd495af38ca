#include "solver/refine/scaled_permutation.h"

#include <algorithm>
#include <numeric>

namespace espalier::solver {

// A x = b: c = Dr b by rows, x = Dc y by columns. A^T x = b: c = Dc b by columns of A,
// x = Dr y by rows of A.
void ScaledPermutation::rhs_to_inner(std::span<const double> b,
                                     std::span<double> c) const {
  for_each_number([&](std::int32_t k, std::int32_t j, const auto& at) {
    c[k] = transposed_ ? column_scale(permutation_[j]) * b[at(permutation_[j])]
                       : row_scale(row(j)) * b[at(row(j))];
  });
}

void ScaledPermutation::rhs_to_outer(std::span<const double> c,
                                     std::span<double> b) const {
  for_each_number([&](std::int32_t k, std::int32_t j, const auto& at) {
    if (transposed_)
      b[at(permutation_[j])] = c[k] / column_scale(permutation_[j]);
    else
      b[at(row(j))] = c[k] / row_scale(row(j));
  });
}

void ScaledPermutation::solution_to_inner(std::span<const double> x,
                                          std::span<double> y) const {
  for_each_number([&](std::int32_t k, std::int32_t j, const auto& at) {
    y[k] = transposed_ ? x[at(row(j))] / row_scale(row(j))
                       : x[at(permutation_[j])] / column_scale(permutation_[j]);
  });
}

void ScaledPermutation::solution_to_outer(std::span<const double> y,
                                          std::span<double> x) const {
  for_each_number([&](std::int32_t k, std::int32_t j, const auto& at) {
    if (transposed_)
      x[at(row(j))] = without_sign_of_zero(row_scale(row(j)) * y[k]);
    else
      x[at(permutation_[j])] = without_sign_of_zero(column_scale(permutation_[j]) * y[k]);
  });
}

void ScaledPermutation::rows_to_inner(std::span<const double> b,
                                      std::span<double> c) const {
  for_each_number(
      [&](std::int32_t k, std::int32_t j, const auto& at) { c[k] = b[at(row(j))]; });
}

void ScaledPermutation::rows_to_outer(std::span<const double> c,
                                      std::span<double> b) const {
  for_each_number(
      [&](std::int32_t k, std::int32_t j, const auto& at) { b[at(row(j))] = c[k]; });
}

std::vector<std::int32_t> ScaledPermutation::inner_rows(
    std::span<const std::int64_t> rows) const {
  std::vector<std::int32_t> result;
  if (rows.empty() || kFewRows * std::ssize(rows) > std::ssize(permutation_))
    return result;
  result.reserve(rows.size());
  std::vector<std::int8_t> wanted(permutation_.size(), 0);
  for (const std::int64_t r : rows) wanted[static_cast<std::size_t>(r)] = 1;
  for (std::size_t k = 0; k < permutation_.size(); ++k) {
    const auto j = static_cast<std::int32_t>(k);
    if (wanted[static_cast<std::size_t>(transposed_ ? permutation_[j] : row(j))] != 0)
      result.push_back(j);
  }
  return result;
}

std::vector<double> ScaledPermutation::solution_scale() const {
  return transposed_ ? inner_row_scale() : inner_column_scale();
}

std::vector<double> ScaledPermutation::inner_row_scale() const {
  if (prepared_.row_scale.empty()) return {};
  std::vector<double> scale(permutation_.size() * parts_);
  for_each_number(
      [&](std::int32_t k, std::int32_t j, const auto&) { scale[k] = row_scale(row(j)); });
  return scale;
}

std::vector<double> ScaledPermutation::inner_column_scale() const {
  if (prepared_.row_scale.empty()) return {};
  std::vector<double> scale(permutation_.size() * parts_);
  for_each_number([&](std::int32_t k, std::int32_t j, const auto&) {
    scale[k] = column_scale(permutation_[j]);
  });
  return scale;
}

// A front without rows ends a system: that it has a parent all the same is for the sake
// of its neighbours in memory. So does one without a parent, whose rows are variables
// that are kept for a Schur complement.
std::vector<std::int32_t> independent_systems(const Symbolic& symbolic) {
  const std::int32_t fronts = symbolic.fronts();
  std::vector<std::int32_t> system(static_cast<std::size_t>(fronts));
  std::int32_t count = 0;
  for (std::int32_t s = fronts; s-- > 0;)
    system[s] = symbolic.rows_of(s).empty() || symbolic.parent[s] < 0
                    ? count++
                    : system[symbolic.parent[s]];
  std::vector<std::int32_t> result;
  if (count <= 1) return result;
  result.resize(static_cast<std::size_t>(symbolic.size));
  for (std::int32_t s = 0; s < fronts; ++s)
    std::fill(result.begin() + symbolic.first_column[s],
              result.begin() + symbolic.first_column[s + 1], system[s]);
  return result;
}

std::vector<std::int32_t> independent_systems(const Symbolic& symbolic,
                                              const BlockForm& form) {
  if (form.empty()) return independent_systems(symbolic);
  std::vector<std::int32_t> system = systems_of_columns(symbolic);
  // To one before, or itself.
  std::vector<std::int32_t> joined(system.empty() ? 0 : system.back() + std::size_t{1});
  std::iota(joined.begin(), joined.end(), 0);
  const auto head = [&](std::int32_t each) {
    while (joined[each] != each) each = joined[each] = joined[joined[each]];
    return each;
  };
  const GeneralMatrix& c = form.coupling;
  for (std::int32_t j = 0; j < c.size; ++j)
    for (auto at = c.column_start[j]; at < c.column_start[j + 1]; ++at) {
      const auto [low, high] = std::minmax({head(system[j]), head(system[c.row[at]])});
      joined[high] = low;
    }
  std::int32_t count = 0;
  std::vector<std::int32_t> number(joined.size());
  for (std::size_t k = 0; k < joined.size(); ++k) {
    const auto own = static_cast<std::int32_t>(k);
    number[k] = joined[k] == own ? count++ : number[head(own)];
  }
  if (count <= 1) return {};
  for (std::int32_t& each : system) each = number[each];
  return system;
}

}  // namespace espalier::solver
