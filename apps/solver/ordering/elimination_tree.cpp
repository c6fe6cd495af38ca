#include "solver/ordering/elimination_tree.h"

#include <numeric>
#include <utility>

#include "solver/matrix/offsets.h"

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

// Strictly lower pattern by columns: column k lists rows i > k, increasing.
LowerRows transposed(const LowerRows& rows) {
  LowerRows columns{rows.size, std::vector<std::int64_t>(rows.row_start.size(), 0),
                    std::vector<std::int32_t>(rows.column.size())};
  std::vector<std::int64_t>& start = columns.row_start;
  for (std::int32_t column : rows.column) ++start[column + 1];
  counts_to_starts(start);
  for (std::int32_t row = 0; row < rows.size; ++row) {
    for (std::int32_t column : rows.columns_of(row)) {
      columns.column[start[column]++] = row;
    }
  }
  cursors_to_starts(start);
  return columns;
}

// Root of the node's set; halves the path on the way.
std::int32_t find_root(std::vector<std::int32_t>& ancestor, std::int32_t node) {
  while (ancestor[node] != node) {
    node = ancestor[node] = ancestor[ancestor[node]];
  }
  return node;
}

// Entries of L for each of A's beyond which counting them one by one costs more time than
// the skeleton algorithm.
constexpr std::int64_t kFewPerEntry = 2;

// Counts the entries of L below the diagonal one by one: the row subtree of a row is on
// the paths from its columns up to it. @return false: there are more than `most`
bool count_by_rows(const LowerRows& rows, std::span<const std::int32_t> parent,
                   std::int64_t most, std::vector<std::int32_t>& count) {
  std::vector<std::int32_t> last_row(parent.size(), -1);
  for (std::int32_t row = 0; row < rows.size; ++row) {
    last_row[row] = row;
    for (const std::int32_t first : rows.columns_of(row))
      for (std::int32_t column = first; last_row[column] != row;
           column = parent[column]) {
        if (--most < 0) return false;
        last_row[column] = row;
        ++count[column];
      }
  }
  return true;
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

std::vector<std::int32_t> forest_postorder(std::span<const std::int32_t> parent) {
  const auto size = static_cast<std::int32_t>(parent.size());
  std::vector<std::int32_t> subtree(parent.size(), 1);
  for (std::int32_t node = 0; node < size; ++node) {
    if (parent[node] >= 0) subtree[parent[node]] += subtree[node];
  }
  // Top-down: each node takes the last free place of its parent's range.
  std::vector<std::int32_t> order(parent.size());
  std::vector<std::int32_t>& last_free = subtree;
  std::int32_t last_free_root = size - 1;
  for (std::int32_t node = size - 1; node >= 0; --node) {
    std::int32_t& last = parent[node] >= 0 ? last_free[parent[node]] : last_free_root;
    const std::int32_t place = last;
    last -= subtree[node];
    order[place] = node;
    last_free[node] = place - 1;
  }
  return order;
}

std::vector<std::int32_t> column_counts(const LowerRows& rows,
                                        std::span<const std::int32_t> parent) {
  const std::int32_t size = rows.size;
  std::vector<std::int32_t> count(parent.size(), 1);
  if (count_by_rows(rows, parent, kFewPerEntry * std::ssize(rows.column), count))
    return count;
  const LowerRows columns = transposed(rows);
  const std::vector<std::int32_t> first = first_descendants(parent);
  std::vector<std::int32_t> ancestor(size), last_first(size, -1), last_leaf(size, -1);
  std::iota(ancestor.begin(), ancestor.end(), 0);

  // Column j of L counts the row subtrees that contain j. Each row subtree adds 1 at its
  // leaves and takes 1 off where two of its paths meet; summing up the tree gives counts.
  for (std::int32_t column = 0; column < size; ++column)
    count[column] = first[column] == column ? 1 : 0;
  for (std::int32_t column = 0; column < size; ++column) {
    for (std::int32_t row : columns.columns_of(column)) {
      if (first[column] <= last_first[row]) continue;  // not a leaf of the row's subtree
      last_first[row] = first[column];
      ++count[column];
      const std::int32_t previous = std::exchange(last_leaf[row], column);
      if (previous >= 0) --count[find_root(ancestor, previous)];
    }
    if (parent[column] >= 0) {
      --count[parent[column]];  // the subtree of row `column` ends below its parent
      ancestor[column] = parent[column];
    }
  }
  for (std::int32_t column = 0; column < size; ++column) {
    if (parent[column] >= 0) count[parent[column]] += count[column];
  }
  return count;
}

}  // namespace espalier::solver
