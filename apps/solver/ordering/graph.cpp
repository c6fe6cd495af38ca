#include "solver/ordering/graph.h"

#include <numeric>
#include <utility>

#include "solver/ordering/lists_by_target.h"

namespace espalier::solver {

std::int64_t total_weight(const Graph& graph) {
  if (graph.weight.empty()) return graph.size();
  return std::accumulate(graph.weight.begin(), graph.weight.end(), std::int64_t{0});
}

Graph adjacency(const SymmetricMatrix& matrix, TaskPool& pool, std::int64_t room) {
  Lists lists = lists_by_target(
      matrix.size, matrix.size, pool,
      [&](std::int32_t column, const auto& emit) {
        for (auto at = matrix.column_start[column]; at < matrix.column_start[column + 1];
             ++at) {
          const std::int32_t row = matrix.row[at];
          if (row == column) continue;
          emit(row, column);
          emit(column, row);
        }
      },
      room);
  return {std::move(lists.start), std::move(lists.item), {}};
}

Graph adjacency(const SymmetricMatrix& matrix) {
  TaskPool alone(1);
  return adjacency(matrix, alone);
}

}  // namespace espalier::solver
