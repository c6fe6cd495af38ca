// Entries of the inverse.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "solver/api/solver_impl.h"
#include "solver/matrix/permute.h"

namespace espalier::solver {

void Solver::Impl::check_places(std::span<const std::int32_t> rows,
                                std::span<const std::int32_t> columns,
                                std::span<double> values) const {
  if (!factored_) throw InvalidInput("inverse_entries: factorise first");
  if (processes_) throw InvalidInput("inverse_entries: not on several processes");
  if (singular()) throw InvalidInput("inverse_entries: the matrix is singular");
  const auto parts = static_cast<std::size_t>(analysis_.permuted.parts());
  if (rows.size() != columns.size() || values.size() != parts * rows.size())
    throw InvalidInput(fmt::format("inverse_entries: {} rows, {} columns, {} values",
                                   rows.size(), columns.size(), values.size()));
  const std::int32_t n = analysis_.symbolic.size;
  for (std::size_t k = 0; k < rows.size(); ++k)
    for (const auto& [name, index] :
         {std::pair("rows", rows[k]), {"columns", columns[k]}})
      if (index < 0 || index >= n)
        throw InvalidInput(fmt::format("inverse_entries: {}[{}] is {}: not in 0 … {}",
                                       name, k, index, n - 1));
}

// A^-1 = Dc Q B^-1 P Dr: rows of the inverse are columns of A.
void Solver::Impl::inverse_entries(std::span<const std::int32_t> rows,
                                   std::span<const std::int32_t> columns,
                                   std::span<double> values,
                                   const std::function<void(double)>& progress) {
  check_places(rows, columns, values);
  const std::vector<std::int32_t>& order = analysis_.symbolic.permutation;
  const std::vector<std::int32_t> row_place = inverse_permutation(order);
  std::vector<std::int32_t> column_place = row_place;
  for (std::size_t k = 0; !prepared_.row_of.empty() && k < order.size(); ++k)
    column_place[prepared_.row_of[order[k]]] = static_cast<std::int32_t>(k);
  std::vector<std::size_t> by_columns(rows.size());
  std::iota(by_columns.begin(), by_columns.end(), std::size_t{0});
  std::ranges::stable_sort(by_columns, {},
                           [&](std::size_t k) { return column_place[columns[k]]; });
  if (!analysis_.form.empty())
    return inverse_columns(by_columns, rows, columns, values, progress);
  std::vector<InversePlace> places;
  for (const std::size_t k : by_columns)
    places.push_back({row_place[rows[k]], column_place[columns[k]]});
  const auto parts = static_cast<std::size_t>(analysis_.permuted.parts());
  std::vector<double> inner(values.size());
  const std::int32_t at_once = nrhs_at_once(kBlock);
  make_room_to_solve(at_once);
  numeric_->inverse_entries(analysis_.symbolic, tree_, places, at_once, inner, progress);
  const bool scaled = !prepared_.row_scale.empty();
  for (std::size_t k = 0; k < by_columns.size(); ++k) {
    const std::size_t to = by_columns[k];
    for (std::size_t part = 0; part < parts; ++part) {
      double& value = values[parts * to + part] = inner[parts * k + part];
      if (scaled)
        value *= prepared_.column_scale[rows[to]] * prepared_.row_scale[columns[to]];
    }
  }
}

// In block triangular form: whole columns, one by one.
void Solver::Impl::inverse_columns(std::span<const std::size_t> by_columns,
                                   std::span<const std::int32_t> rows,
                                   std::span<const std::int32_t> columns,
                                   std::span<double> values,
                                   const std::function<void(double)>& progress) {
  const auto parts = static_cast<std::size_t>(analysis_.permuted.parts());
  std::vector<double> column;
  std::int32_t known = -1;
  double done = 0;
  for (const std::size_t k : by_columns) {
    done += 1;
    if (columns[k] != known) {
      if (progress) progress((done - 1) / static_cast<double>(by_columns.size()));
      known = columns[k];
      column.assign(static_cast<std::size_t>(vector_size()), 0.0);
      column[parts * static_cast<std::size_t>(known)] = 1;
      (void)solve(column, 1, Operation::kPlain, {}, {});
    }
    for (std::size_t part = 0; part < parts; ++part)
      values[parts * k + part] = column[parts * static_cast<std::size_t>(rows[k]) + part];
  }
}

}  // namespace espalier::solver
