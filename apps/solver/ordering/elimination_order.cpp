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
  PostorderedForest forest = postordered(elimination_tree(rows));
  result.permutation = composed(order, forest.order);
  result.parent = std::move(forest.parent);
  result.rows = std::ranges::is_sorted(forest.order)  // as it is
                    ? std::move(rows)
                    : renumbered(rows, forest.order, forest.number, pool);
  result.counts = column_counts(result.rows, result.parent, pool,
                                weight.empty() ? std::vector<std::int32_t>{}
                                               : composed(weight, result.permutation));
  return result;
}

// Vertices in an order in which each is next to one at most that comes later: its parent;
// -1: none.
struct Leaves {
  std::vector<std::int32_t> order, parent;
};

// Of the neighbours that a vertex has left their exclusive or is known, which is the
// neighbour where there is one.
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
  for (std::int32_t v = 0; v < size; ++v)
    if (degree[v] <= 1) leaves.order.push_back(v);
  for (std::size_t k = 0; k < leaves.order.size(); ++k) {  // grows on the way
    const std::int32_t leaf = leaves.order[k];
    if (degree[leaf] == 0) neighbours[leaf] = -1;
    const std::int32_t other = neighbours[leaf];  // for good: the leaf goes
    if (other < 0) continue;
    neighbours[other] ^= leaf;
    if (--degree[other] == 1) leaves.order.push_back(other);
  }
  if (std::ssize(leaves.order) < size) return std::nullopt;
  leaves.parent = std::move(neighbours);
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
  const std::optional<Leaves> leaves = leaves_of_forest(matrix);
  if (!leaves) return std::nullopt;
  const std::int32_t size = matrix.size;
  PostorderedForest forest = postordered(leaves->parent, leaves->order);
  EliminationOrder result;
  result.permutation = std::move(forest.order);
  result.parent = std::move(forest.parent);
  result.counts.assign(result.parent.size(), 1);
  result.rows = {size, UnsetVector<std::int64_t>(result.parent.size() + 1, 0), {}};
  for (std::int32_t k = 0; k < size; ++k) {
    const std::int32_t above = result.parent[k];
    if (above < 0) continue;
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
