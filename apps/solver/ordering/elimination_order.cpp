#include "solver/ordering/elimination_order.h"

#include <algorithm>
#include <utility>

#include "solver/matrix/offsets.h"
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

// Vertices in an order in which each is next to one at most that comes later; -1: none.
struct Leaves {
  std::vector<std::int32_t> order, left;
};

std::optional<Leaves> leaves_of_forest(const SymmetricMatrix& matrix) {
  const std::int32_t size = matrix.size;
  if (std::ssize(matrix.row) > 2 * std::int64_t{size}) return std::nullopt;
  std::vector<std::int32_t> degree(size, 0), neighbours(size, 0);
  for (std::int32_t column = 0; column < size; ++column)
    for (auto at = matrix.column_start[column]; at < matrix.column_start[column + 1];
         ++at) {
      const std::int32_t row = matrix.row[at];
      if (row == column) continue;
      ++degree[row];
      ++degree[column];
      neighbours[row] ^= column;
      neighbours[column] ^= row;
    }
  Leaves leaves;
  leaves.order.reserve(size);
  leaves.left.reserve(size);
  for (std::int32_t v = 0; v < size; ++v)
    if (degree[v] <= 1) leaves.order.push_back(v);
  for (std::size_t k = 0; k < leaves.order.size(); ++k) {  // grows on the way
    const std::int32_t leaf = leaves.order[k];
    leaves.left.push_back(degree[leaf] == 0 ? -1 : neighbours[leaf]);
    if (degree[leaf] == 0) continue;
    const std::int32_t other = neighbours[leaf];
    neighbours[other] ^= leaf;
    if (--degree[other] == 1) leaves.order.push_back(other);
  }
  if (std::ssize(leaves.order) < size) return std::nullopt;
  return leaves;
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

std::optional<EliminationOrder> elimination_of_forest(const SymmetricMatrix& matrix) {
  std::optional<Leaves> leaves = leaves_of_forest(matrix);
  if (!leaves) return std::nullopt;
  const std::int32_t size = matrix.size;
  const std::vector<std::int32_t> place = inverse_permutation(leaves->order);
  std::vector<std::int32_t> parent(leaves->order.size());
  for (std::int32_t k = 0; k < size; ++k)
    parent[k] = leaves->left[k] < 0 ? -1 : place[leaves->left[k]];
  const std::vector<std::int32_t> postorder = forest_postorder(parent);
  const std::vector<std::int32_t> number = inverse_permutation(postorder);
  EliminationOrder result;
  result.permutation = composed(leaves->order, postorder);
  result.parent = composed(parent, postorder);
  result.counts.assign(parent.size(), 1);
  result.rows = {size, std::vector<std::int64_t>(parent.size() + 1, 0), {}};
  for (std::int32_t k = 0; k < size; ++k) {
    std::int32_t& above = result.parent[k];
    if (above < 0) continue;
    above = number[above];
    result.counts[k] = 2;
    ++result.rows.row_start[above + 1];
  }
  counts_to_starts(result.rows.row_start);
  result.rows.column.resize(result.rows.row_start.back());
  for (std::int32_t k = 0; k < size; ++k)
    if (result.parent[k] >= 0)
      result.rows.column[result.rows.row_start[result.parent[k]]++] = k;
  cursors_to_starts(result.rows.row_start);
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
