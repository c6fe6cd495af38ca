#include "solver/ordering/elimination_order.h"

#include <algorithm>
#include <utility>

#include "solver/matrix/permute.h"

namespace espalier::solver {
namespace {

// Of columns, or of groups with so many columns: counts are of the first of them then,
// and nobody has added up operations.
EliminationOrder found_out(const SymmetricMatrix& matrix,
                           std::span<const std::int32_t> order,
                           std::span<const std::int32_t> weight, TaskPool& pool) {
  EliminationOrder result;
  LowerRows rows = permuted_rows(matrix, order, pool);
  std::vector<std::int32_t> parent = elimination_tree(rows);
  const std::vector<std::int32_t> postorder = forest_postorder(parent);
  if (std::ranges::is_sorted(postorder)) {  // as it is
    result.permutation.assign(order.begin(), order.end());
    result.parent = std::move(parent);
    result.rows = std::move(rows);
  } else {
    const std::vector<std::int32_t> number = inverse_permutation(postorder);
    result.permutation = composed(order, postorder);
    result.parent = composed(parent, postorder);
    for (std::int32_t& above : result.parent)
      if (above >= 0) above = number[above];
    result.rows = renumbered(rows, postorder, number, pool);
  }
  result.counts = column_counts(result.rows, result.parent, pool,
                                weight.empty() ? std::vector<std::int32_t>{}
                                               : composed(weight, result.permutation));
  return result;
}

void add_up_operations(EliminationOrder& order) {
  for (const double count : order.counts) order.flops += count * count;
}

// The columns of groups, one after the other.
EliminationOrder by_columns(const EliminationOrder& of_groups,
                            const GroupedPattern& grouped) {
  EliminationOrder result;
  result.permutation = grouped.expanded(of_groups.permutation);
  const std::size_t columns = result.permutation.size();
  std::vector<std::int32_t> first(1, 0);  // of each group
  for (const std::int32_t group : of_groups.permutation)
    first.push_back(first.back() + grouped.weight()[group]);
  result.parent.reserve(columns);
  result.counts.reserve(columns);
  result.rows.size = static_cast<std::int32_t>(columns);
  result.rows.row_start.reserve(columns + 1);
  result.rows.row_start.push_back(0);
  for (std::size_t group = 0; group + 1 < first.size(); ++group) {
    const std::int32_t above = of_groups.parent[group];
    const auto rows = of_groups.rows.columns_of(static_cast<std::int32_t>(group));
    for (std::int32_t column = first[group]; column < first[group + 1]; ++column) {
      result.parent.push_back(column + 1);
      result.counts.push_back(of_groups.counts[group] - (column - first[group]));
      for (const std::int32_t other : rows) result.rows.column.push_back(first[other]);
      result.rows.row_start.push_back(std::ssize(result.rows.column));
    }
    result.parent.back() = above < 0 ? above : first[above];
  }
  return result;
}

}  // namespace

EliminationOrder elimination_order(const SymmetricMatrix& matrix,
                                   std::span<const std::int32_t> order, Threads threads) {
  EliminationOrder result;
  on_pool(threads, matrix.size,
          [&](TaskPool& pool) { result = found_out(matrix, order, {}, pool); });
  add_up_operations(result);
  return result;
}

EliminationOrder elimination_order(const GroupedPattern& grouped,
                                   std::span<const std::int32_t> order, Threads threads) {
  if (grouped.is_trivial()) return elimination_order(grouped.pattern(), order, threads);
  EliminationOrder result;
  on_pool(threads, grouped.pattern().size, [&](TaskPool& pool) {
    result =
        by_columns(found_out(grouped.pattern(), order, grouped.weight(), pool), grouped);
  });
  add_up_operations(result);
  return result;
}

}  // namespace espalier::solver
