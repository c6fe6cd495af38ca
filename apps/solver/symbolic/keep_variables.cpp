#include "solver/symbolic/keep_variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <variant>

#include "espalier/model/error.h"
#include "solver/symbolic/front_cost.h"

namespace espalier::solver {
namespace {

template <class Matrix>
Matrix block_of(const Matrix& a, std::span<const std::int32_t> variables) {
  std::vector<std::int32_t> place(a.size, -1);
  for (std::size_t k = 0; k < variables.size(); ++k)
    place[variables[k]] = static_cast<std::int32_t>(k);
  Matrix block;
  block.size = static_cast<std::int32_t>(variables.size());
  block.column_start.assign(1, 0);
  for (const std::int32_t j : variables) {
    for (auto k = a.column_start[j]; k < a.column_start[j + 1]; ++k) {
      if (place[a.row[k]] < 0) continue;
      block.row.push_back(place[a.row[k]]);
      block.value.push_back(a.value[k]);
    }
    block.column_start.push_back(std::ssize(block.row));
  }
  return block;
}

// result[inner[k]] = values[k] for what was said of A_ii; `beside` of the kept ones.
template <class V>
std::vector<V> spread(const std::vector<V>& values, const VariableSplit& split,
                      std::int32_t size, V beside) {
  std::vector<V> result(size, beside);
  for (std::size_t k = 0; k < values.size(); ++k) result[split.inner[k]] = values[k];
  return result;
}

std::vector<std::int32_t> renamed(const std::vector<std::int32_t>& indices,
                                  const VariableSplit& split, std::int32_t size) {
  if (indices.empty()) return {};
  std::vector<std::int32_t> result(size);
  std::iota(result.begin(), result.end(), 0);
  for (std::size_t k = 0; k < indices.size(); ++k)
    result[split.inner[k]] = split.inner[indices[k]];
  return result;
}

// The power of two that brings `largest` near 1.
double scale_for(double largest) {
  constexpr int kMost = 1000;
  if (largest == 0) return 1;
  return std::ldexp(1.0, -std::clamp(std::ilogb(largest), -kMost, kMost));
}

// Scales of kept rows and columns, by those that the inner ones have.
void scale_kept(const InputMatrix& matrix, const VariableSplit& split,
                PreparedMatrix& prepared) {
  const auto size = order_of(matrix);
  const std::vector<double> ones(split.inner.size(), 1.0);
  const auto whole = [&](const std::vector<double>& scale) {
    return spread(scale.empty() ? ones : scale, split, size, 1.0);
  };
  prepared.row_scale = whole(prepared.row_scale);
  prepared.column_scale = whole(prepared.column_scale);
  std::vector<double> row(size, 0.0), column(size, 0.0);
  const bool symmetric = std::holds_alternative<SymmetricMatrix>(matrix);
  std::visit(
      [&](const auto& a) {
        const auto see = [&](std::int32_t i, std::int32_t j, double value) {
          row[i] = std::max(row[i], std::abs(value) * prepared.column_scale[j]);
          column[j] = std::max(column[j], std::abs(value) * prepared.row_scale[i]);
        };
        for (std::int32_t j = 0; j < a.size; ++j)
          for (auto k = a.column_start[j]; k < a.column_start[j + 1]; ++k) {
            see(a.row[k], j, a.value[k]);
            if (symmetric && a.row[k] != j) see(j, a.row[k], a.value[k]);
          }
      },
      matrix);
  for (const std::int32_t k : split.kept) {
    prepared.row_scale[k] = scale_for(row[k]);
    prepared.column_scale[k] = scale_for(column[k]);
  }
}

// The pattern of both triangles in the order of elimination, lower triangle, rows sorted.
SymmetricMatrix pattern_of(const PreparedMatrix& prepared,
                           std::span<const std::int32_t> order,
                           const InputMatrix& matrix) {
  const auto size = static_cast<std::int32_t>(order.size());
  std::vector<std::vector<std::int32_t>> rows(size);
  place_entries(prepared, order, matrix, [&](const PlacedEntry& entry) {
    rows[std::min(entry.row, entry.column)].push_back(std::max(entry.row, entry.column));
  });
  SymmetricMatrix pattern;
  pattern.size = size;
  pattern.column_start.assign(1, 0);
  for (std::vector<std::int32_t>& column : rows) {
    std::ranges::sort(column);
    const auto twice = std::ranges::unique(column);
    column.erase(twice.begin(), twice.end());
    pattern.row.insert(pattern.row.end(), column.begin(), column.end());
    pattern.column_start.push_back(std::ssize(pattern.row));
    column = {};
  }
  pattern.value.resize(pattern.row.size());
  return pattern;
}

// Kept rows of each front, by the entries in its columns and by its children.
std::vector<std::vector<std::int32_t>> kept_rows(const Symbolic& symbolic,
                                                 const SymmetricMatrix& lower) {
  std::vector<std::vector<std::int32_t>> rows(symbolic.fronts());
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s) {
    for (auto j = symbolic.first_column[s]; j < symbolic.first_column[s + 1]; ++j) {
      const auto end = lower.row.begin() + lower.column_start[j + 1];
      rows[s].insert(rows[s].end(),
                     std::lower_bound(lower.row.begin() + lower.column_start[j], end,
                                      symbolic.inner()),
                     end);
    }
    std::ranges::sort(rows[s]);
    const auto twice = std::ranges::unique(rows[s]);
    rows[s].erase(twice.begin(), twice.end());
    const std::int32_t parent = symbolic.parent[s];
    if (parent >= 0)
      rows[parent].insert(rows[parent].end(), rows[s].begin(), rows[s].end());
  }
  return rows;
}

// The fronts with their kept rows, and the last one, which has nothing else.
void extend(Symbolic& symbolic, const SymmetricMatrix& lower) {
  const std::vector<std::vector<std::int32_t>> kept = kept_rows(symbolic, lower);
  const std::int32_t fronts = symbolic.fronts();
  UnsetVector<std::int32_t> rows;
  std::vector<std::int64_t> start = {0};
  for (std::int32_t s = 0; s < fronts; ++s) {
    const auto before = symbolic.rows_of(s);
    rows.insert(rows.end(), before.begin(), before.end());
    rows.insert(rows.end(), kept[s].begin(), kept[s].end());
    start.push_back(std::ssize(rows));
    const std::int64_t pivots = symbolic.pivots(s), order = symbolic.front_order(s);
    symbolic.factor_flops +=
        front_flops(order + std::ssize(kept[s]), pivots) - front_flops(order, pivots);
    symbolic.factor_entries += pivots * std::ssize(kept[s]);
    if (symbolic.parent[s] < 0) symbolic.parent[s] = fronts;
  }
  for (std::int32_t k = symbolic.inner(); k < symbolic.size; ++k) rows.push_back(k);
  start.push_back(std::ssize(rows));
  symbolic.first_column.push_back(symbolic.inner());
  symbolic.parent.push_back(-1);
  symbolic.rows = std::move(rows);
  symbolic.row_start = std::move(start);
}

}  // namespace

VariableSplit::VariableSplit(std::int32_t size, std::span<const std::int32_t> variables)
    : kept(variables.begin(), variables.end()) {
  std::vector<bool> stays(size, false);
  for (std::size_t k = 0; k < kept.size(); ++k) {
    if (kept[k] < 0 || kept[k] >= size || stays[kept[k]])
      throw InvalidInput(fmt::format("schur[{}] is {}: {}", k, kept[k],
                                     kept[k] < 0 || kept[k] >= size
                                         ? fmt::format("not one of 0 … {}", size - 1)
                                         : "it is there twice"));
    stays[kept[k]] = true;
  }
  for (std::int32_t i = 0; i < size; ++i)
    if (!stays[i]) inner.push_back(i);
}

std::vector<std::int32_t> VariableSplit::inner_order(
    std::span<const std::int32_t> order) const {
  std::vector<std::int32_t> place(order.size(), -1), result;
  if (order.empty()) return result;
  for (std::size_t k = 0; k < inner.size(); ++k)
    place[inner[k]] = static_cast<std::int32_t>(k);
  for (const std::int32_t each : order)
    if (place[each] >= 0) result.push_back(place[each]);
  return result;
}

InputMatrix inner_block(const InputMatrix& matrix, const VariableSplit& split) {
  return std::visit(
      [&](const auto& a) -> InputMatrix { return block_of(a, split.inner); }, matrix);
}

void keep_variables(const InputMatrix& matrix, const VariableSplit& split,
                    PreparedMatrix& prepared, Analysis& analysis) {
  const std::int32_t size = order_of(matrix);
  scale_kept(matrix, split, prepared);
  prepared.row_of = renamed(prepared.row_of, split, size);
  prepared.partner = renamed(prepared.partner, split, size);
  for (std::int32_t* rank : {&prepared.structural_rank, &prepared.pattern_rank})
    *rank += static_cast<std::int32_t>(split.kept.size());
  Symbolic& symbolic = analysis.symbolic;
  for (std::int32_t& each : symbolic.permutation) each = split.inner[each];
  symbolic.permutation.insert(symbolic.permutation.end(), split.kept.begin(),
                              split.kept.end());
  symbolic.size = size;
  analysis.permuted = {pattern_of(prepared, symbolic.permutation, matrix), {}};
  if (prepared.kind == FactorKind::kLu)
    analysis.permuted.upper.resize(analysis.permuted.lower.value.size());
  refill(analysis.permuted, prepared, symbolic.permutation, matrix);
  extend(symbolic, analysis.permuted.lower);
}

}  // namespace espalier::solver
