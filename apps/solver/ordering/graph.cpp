#include "solver/ordering/graph.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "solver/ordering/lists_by_target.h"
#include "solver/ordering/mixed_bits.h"
#include "solver/ordering/vertex_blocks.h"

namespace espalier::solver {
namespace {

constexpr std::int32_t kNone = -1;

// visit(vertex) of each.
template <class Visit>
void for_each_vertex(const Graph& graph, TaskPool& pool, const Visit& visit) {
  const VertexBlocks blocks(graph.size());
  pool.for_each_block(blocks.count(), [&](std::int64_t k) {
    for (std::int32_t v = blocks.first(k); v < blocks.first(k + 1); ++v) visit(v);
  });
}

// Of each vertex with its neighbours.
std::vector<std::uint64_t> neighbourhood_hashes(const Graph& graph, TaskPool& pool) {
  std::vector<std::uint64_t> hash(graph.size());
  for_each_vertex(graph, pool, [&](std::int32_t vertex) {
    std::uint64_t sum = mixed_bits(vertex);
    for (const std::int32_t other : graph.neighbours(vertex)) sum += mixed_bits(other);
    hash[vertex] = sum;
  });
  return hash;
}

// Of each vertex whether a neighbour has its hash.
std::vector<std::int8_t> vertices_with_twins(const Graph& graph,
                                             const std::vector<std::uint64_t>& hash,
                                             TaskPool& pool) {
  std::vector<std::int8_t> result(graph.size());
  for_each_vertex(graph, pool, [&](std::int32_t vertex) {
    result[vertex] = std::ranges::any_of(
        graph.neighbours(vertex),
        [&](std::int32_t other) { return hash[other] == hash[vertex]; });
  });
  return result;
}

// The vertices of each group in increasing order, by offsets.
struct Members {
  std::vector<std::int32_t> start, vertex;
  explicit Members(const Groups& groups)
      : start(groups.count + 1LL, 0), vertex(groups.of.size()) {
    for (std::int32_t group : groups.of) ++start[group + 1];
    std::partial_sum(start.begin(), start.end(), start.begin());
    std::vector<std::int32_t> next(start.begin(), start.end() - 1);
    for (std::size_t k = 0; k < vertex.size(); ++k) {
      vertex[next[groups.of[k]]++] = static_cast<std::int32_t>(k);
    }
  }
  [[nodiscard]] std::span<const std::int32_t> of(std::int32_t group) const {
    return std::span(vertex).subspan(start[group], start[group + 1] - start[group]);
  }
};

}  // namespace

std::int64_t total_weight(const Graph& graph) {
  if (graph.weight.empty()) return graph.size();
  return std::accumulate(graph.weight.begin(), graph.weight.end(), std::int64_t{0});
}

Graph adjacency(const SymmetricMatrix& matrix, TaskPool& pool) {
  Lists lists = lists_by_target(matrix.size, matrix.size, pool,
                                [&](std::int32_t column, const auto& emit) {
                                  for (auto at = matrix.column_start[column];
                                       at < matrix.column_start[column + 1]; ++at) {
                                    const std::int32_t row = matrix.row[at];
                                    if (row == column) continue;
                                    emit(row, column);
                                    emit(column, row);
                                  }
                                });
  return {std::move(lists.start), std::move(lists.item), {}};
}

Graph adjacency(const SymmetricMatrix& matrix) {
  TaskPool alone(1);
  return adjacency(matrix, alone);
}

Groups indistinguishable_vertices(const Graph& graph, TaskPool& pool) {
  const std::vector<std::uint64_t> hash = neighbourhood_hashes(graph, pool);
  const std::vector<std::int8_t> has_twin = vertices_with_twins(graph, hash, pool);
  Groups groups{std::vector<std::int32_t>(graph.size(), kNone), 0};
  std::vector<std::int32_t> beside(graph.size(), kNone);  // beside[v] = u: v is next to u
  for (std::int32_t vertex = 0; vertex < graph.size(); ++vertex) {
    if (groups.of[vertex] != kNone) continue;
    groups.of[vertex] = groups.count;
    if (has_twin[vertex] == 0) {
      ++groups.count;
      continue;
    }
    const auto neighbours = graph.neighbours(vertex);
    const auto same_set = [&](std::int32_t other) {
      if (beside[vertex] != vertex) {  // not marked yet
        for (std::int32_t each : neighbours) beside[each] = vertex;
        beside[vertex] = vertex;
      }
      for (std::int32_t each : graph.neighbours(other)) {
        if (beside[each] != vertex) return false;
      }
      return true;
    };
    for (std::int32_t other : neighbours) {
      if (groups.of[other] == kNone && hash[other] == hash[vertex] &&
          graph.neighbours(other).size() == neighbours.size() && same_set(other)) {
        groups.of[other] = groups.count;
      }
    }
    ++groups.count;
  }
  return groups;
}

Groups indistinguishable_vertices(const Graph& graph) {
  TaskPool alone(1);
  return indistinguishable_vertices(graph, alone);
}

Groups paired_vertices(std::span<const std::int32_t> partner) {
  Groups groups{std::vector<std::int32_t>(partner.size(), kNone), 0};
  for (std::size_t vertex = 0; vertex < partner.size(); ++vertex) {
    if (groups.of[vertex] != kNone) continue;
    groups.of[vertex] = groups.of[partner[vertex]] = groups.count++;
  }
  return groups;
}

Graph quotient(const Graph& graph, const Groups& groups) {
  const Members members(groups);
  Graph result;
  result.start.assign(1, 0);
  result.weight.assign(groups.count, 0);
  std::vector<std::int32_t> last(groups.count, kNone);  // group that listed a group last
  for (std::int32_t group = 0; group < groups.count; ++group) {
    last[group] = group;  // no loop
    for (std::int32_t vertex : members.of(group)) {
      result.weight[group] += graph.weight.empty() ? 1 : graph.weight[vertex];
      for (std::int32_t other : graph.neighbours(vertex)) {
        const std::int32_t to = groups.of[other];
        if (last[to] == group) continue;
        last[to] = group;
        result.neighbour.push_back(to);
      }
    }
    result.start.push_back(std::ssize(result.neighbour));
  }
  return result;
}

SymmetricMatrix paired_pattern(const SymmetricMatrix& matrix,
                               std::span<const std::int32_t> partner) {
  const Groups pairs = paired_vertices(partner);
  const Graph graph = quotient(adjacency(matrix), pairs);
  const Members members(pairs);
  SymmetricMatrix result;
  result.size = matrix.size;
  result.column_start.assign(1, 0);
  for (std::int32_t column = 0; column < matrix.size; ++column) {
    const auto append = [&](std::int32_t group) {
      for (std::int32_t row : members.of(group)) {
        if (row >= column) result.row.push_back(row);
      }
    };
    append(pairs.of[column]);
    for (std::int32_t group : graph.neighbours(pairs.of[column])) append(group);
    result.column_start.push_back(static_cast<std::int64_t>(result.row.size()));
  }
  return result;
}

std::vector<std::int32_t> expanded_order(std::span<const std::int32_t> group_order,
                                         const Groups& groups) {
  const Members members(groups);
  std::vector<std::int32_t> order;
  order.reserve(groups.of.size());
  for (std::int32_t group : group_order) {
    const auto vertices = members.of(group);
    order.insert(order.end(), vertices.begin(), vertices.end());
  }
  return order;
}

}  // namespace espalier::solver
