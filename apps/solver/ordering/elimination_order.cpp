#include "solver/ordering/elimination_order.h"

#include <algorithm>
#include <utility>

namespace espalier::solver {
namespace {

// The same rows when column order[k] is renumbered k, an order in which every column
// still comes before those of its ancestors: nothing changes its triangle.
LowerRows renumbered(const LowerRows& rows, std::span<const std::int32_t> order,
                     std::span<const std::int32_t> number) {
  LowerRows result{rows.size, {}, {}};
  result.row_start.reserve(rows.row_start.size());
  result.row_start.push_back(0);
  result.column.reserve(rows.column.size());
  for (const std::int32_t row : order) {
    for (const std::int32_t column : rows.columns_of(row))
      result.column.push_back(number[column]);
    result.row_start.push_back(std::ssize(result.column));
  }
  return result;
}

}  // namespace

EliminationOrder elimination_order(const SymmetricMatrix& matrix,
                                   std::span<const std::int32_t> order) {
  EliminationOrder result;
  LowerRows rows = permuted_rows(matrix, order);
  std::vector<std::int32_t> parent = elimination_tree(rows);
  const std::vector<std::int32_t> postorder = forest_postorder(parent);
  if (std::ranges::is_sorted(postorder)) {  // as it is
    result.permutation.assign(order.begin(), order.end());
    result.parent = std::move(parent);
    result.rows = std::move(rows);
  } else {
    const std::vector<std::int32_t> number = inverse_permutation(postorder);
    result.permutation.reserve(order.size());
    result.parent.reserve(order.size());
    for (const std::int32_t column : postorder) {
      result.permutation.push_back(order[column]);
      const std::int32_t above = parent[column];
      result.parent.push_back(above < 0 ? above : number[above]);
    }
    result.rows = renumbered(rows, postorder, number);
  }
  result.counts = column_counts(result.rows, result.parent);
  for (const double count : result.counts) result.flops += count * count;
  return result;
}

}  // namespace espalier::solver
