#include "solver/ordering/elimination_order.h"

namespace espalier::solver {

EliminationOrder elimination_order(const SymmetricMatrix& matrix,
                                   std::span<const std::int32_t> order) {
  EliminationOrder result;
  const std::vector<std::int32_t> parent = elimination_tree(permuted_rows(matrix, order));
  const std::vector<std::int32_t> postorder = forest_postorder(parent);
  const std::vector<std::int32_t> number = inverse_permutation(postorder);
  result.permutation.reserve(order.size());
  result.parent.reserve(order.size());
  for (const std::int32_t column : postorder) {
    result.permutation.push_back(order[column]);
    const std::int32_t above = parent[column];
    result.parent.push_back(above < 0 ? above : number[above]);
  }
  result.rows = permuted_rows(matrix, result.permutation);
  result.counts = column_counts(result.rows, result.parent);
  for (const double count : result.counts) result.flops += count * count;
  return result;
}

}  // namespace espalier::solver
