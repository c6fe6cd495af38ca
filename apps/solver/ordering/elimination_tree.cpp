#include "solver/ordering/elimination_tree.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>

#include "solver/ordering/range_maximum.h"
#include "solver/ordering/vertex_blocks.h"

namespace espalier::solver {
namespace {

// First node of each subtree; nodes are in postorder, so a subtree ends with its root.
std::vector<std::int32_t> first_descendants(std::span<const std::int32_t> parent) {
  std::vector<std::int32_t> first(parent.size());
  std::iota(first.begin(), first.end(), 0);
  for (std::size_t node = 0; node < parent.size(); ++node) {
    if (parent[node] >= 0 && first[node] < first[parent[node]]) {
      first[parent[node]] = first[node];
    }
  }
  return first;
}

// Entries of L for each of A's beyond which counting them one by one costs more time than
// looking for leaves; of many columns this is tried by threads at once.
constexpr std::int64_t kFewPerEntry = 2;
constexpr std::int32_t kTooFewColumns = 100'000;

// Columns that each column stands for.
class ColumnWeights {
 public:
  explicit ColumnWeights(std::span<const std::int32_t> weight) : weight_(weight) {}
  std::int32_t operator[](std::int32_t column) const {
    return weight_.empty() ? 1 : weight_[column];
  }

 private:
  std::span<const std::int32_t> weight_;
};

// Counts the entries of L below the diagonal one by one: the row subtree of a row is on
// the paths from its columns up to it. @return false: there are more than `most`
bool count_by_rows(const LowerRows& rows, std::span<const std::int32_t> parent,
                   ColumnWeights weight, std::int64_t most,
                   std::vector<std::int32_t>& count) {
  std::vector<std::int32_t> last_row(parent.size(), -1);
  for (std::int32_t row = 0; row < rows.size; ++row) {
    last_row[row] = row;
    for (const std::int32_t first : rows.columns_of(row))
      for (std::int32_t column = first; last_row[column] != row;
           column = parent[column]) {
        if (--most < 0) return false;
        last_row[column] = row;
        count[column] += weight[row];
      }
  }
  return true;
}

// What the subtree of a row adds: add(column, times its weight).
template <class Add>
void add_row_subtree(const LowerRows& rows, std::int32_t row,
                     std::span<const std::int32_t> parent,
                     std::span<const std::int32_t> first, const RangeMaximum& parents,
                     std::vector<std::int32_t>& columns, const Add& add) {
  const auto of_row = rows.columns_of(row);
  columns.assign(of_row.begin(), of_row.end());
  std::ranges::sort(columns);
  if (columns.empty()) columns.push_back(row);  // a leaf itself
  add(columns.front(), 1);
  for (std::size_t k = 1; k < columns.size(); ++k) {
    const std::int32_t before = columns[k - 1], column = columns[k];
    if (first[column] <= before) continue;  // on its path
    add(column, 1);
    add(parents.of(before, column), -1);
  }
  if (parent[row] >= 0) add(parent[row], -1);
}

// What all row subtrees add to each column. Sums of integers do not depend on the order.
std::vector<std::int32_t> row_subtrees(const LowerRows& rows,
                                       std::span<const std::int32_t> parent,
                                       ColumnWeights weight, TaskPool& pool) {
  const std::vector<std::int32_t> first = first_descendants(parent);
  const RangeMaximum parents(parent, pool);
  std::vector<std::int32_t> sum(parent.size(), 0);
  const VertexBlocks blocks(rows.size);
  const auto visit = [&](std::int64_t k, const auto& add) {
    std::vector<std::int32_t> columns;
    for (std::int32_t row = blocks.first(k); row < blocks.first(k + 1); ++row)
      add_row_subtree(rows, row, parent, first, parents, columns,
                      [&, by = weight[row]](std::int32_t column, std::int32_t times) {
                        add(column, times * by);
                      });
  };
  pool.for_each_block(blocks.count(), [&](std::int64_t k) {
    if (!pool.shares())
      visit(k, [&](std::int32_t column, std::int32_t by) { sum[column] += by; });
    else
      visit(k, [&](std::int32_t column, std::int32_t by) {
        std::atomic_ref(sum[column]).fetch_add(by, std::memory_order_relaxed);
      });
  });
  return sum;
}

}  // namespace

std::vector<std::int32_t> elimination_tree(const LowerRows& rows) {
  std::vector<std::int32_t> parent(rows.size, -1);
  std::vector<std::int32_t> ancestor(rows.size, -1);
  for (std::int32_t row = 0; row < rows.size; ++row) {
    for (std::int32_t node : rows.columns_of(row)) {
      // Climb to the root of the node's tree so far and hang it below the row.
      while (node >= 0 && node != row) {
        const std::int32_t next = std::exchange(ancestor[node], row);
        if (next < 0) parent[node] = row;
        node = next;
      }
    }
  }
  return parent;
}

PostorderedForest postordered(std::span<const std::int32_t> parent,
                              std::span<const std::int32_t> order) {
  const auto size = static_cast<std::int32_t>(parent.size());
  const auto at = [&](std::int32_t k) { return order.empty() ? k : order[k]; };
  std::vector<std::int32_t> subtree(parent.size(), 1);
  for (std::int32_t k = 0; k < size; ++k) {
    const std::int32_t node = at(k);
    if (parent[node] >= 0) subtree[parent[node]] += subtree[node];
  }
  // Top-down: each node takes the last free place of its parent's range.
  PostorderedForest forest;
  forest.order.resize(parent.size());
  forest.number.resize(parent.size());
  std::vector<std::int32_t>& last_free = subtree;
  std::int32_t last_free_root = size - 1;
  for (std::int32_t k = size - 1; k >= 0; --k) {
    const std::int32_t node = at(k);
    std::int32_t& last = parent[node] >= 0 ? last_free[parent[node]] : last_free_root;
    const std::int32_t place = last;
    last -= subtree[node];
    forest.order[place] = node;
    forest.number[node] = place;
    last_free[node] = place - 1;
  }
  forest.parent.reserve(parent.size());
  for (const std::int32_t node : forest.order)
    forest.parent.push_back(parent[node] < 0 ? -1 : forest.number[parent[node]]);
  return forest;
}

std::vector<std::int32_t> column_counts(const LowerRows& rows,
                                        std::span<const std::int32_t> parent,
                                        TaskPool& pool,
                                        std::span<const std::int32_t> weight) {
  const ColumnWeights weights(weight);
  if (rows.size <= kTooFewColumns) {
    std::vector<std::int32_t> count(parent.size());
    for (std::int32_t column = 0; column < rows.size; ++column)
      count[column] = weights[column];
    if (count_by_rows(rows, parent, weights, kFewPerEntry * std::ssize(rows.column),
                      count))
      return count;
  }
  std::vector<std::int32_t> count = row_subtrees(rows, parent, weights, pool);
  for (std::int32_t column = 0; column < rows.size; ++column) {
    if (parent[column] >= 0) count[parent[column]] += count[column];
  }
  return count;
}

std::vector<std::int32_t> column_counts(const LowerRows& rows,
                                        std::span<const std::int32_t> parent) {
  TaskPool alone(1);
  return column_counts(rows, parent, alone);
}

}  // namespace espalier::solver
