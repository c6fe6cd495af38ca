#include "solver/ordering/elimination_order.h"

#include <algorithm>
#include <utility>

#include "solver/matrix/permute.h"

namespace espalier::solver {
namespace {

EliminationOrder found_out(const SymmetricMatrix& matrix,
                           std::span<const std::int32_t> order, TaskPool& pool) {
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
  result.counts = column_counts(result.rows, result.parent, pool);
  for (const double count : result.counts) result.flops += count * count;
  return result;
}

}  // namespace

EliminationOrder elimination_order(const SymmetricMatrix& matrix,
                                   std::span<const std::int32_t> order, Threads threads) {
  EliminationOrder result;
  on_pool(threads, matrix.size,
          [&](TaskPool& pool) { result = found_out(matrix, order, pool); });
  return result;
}

}  // namespace espalier::solver
