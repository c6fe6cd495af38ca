#include "solver/ordering/graph.h"

#include <algorithm>
#include <numeric>

#include "solver/matrix/offsets.h"
#include "solver/ordering/mixed_bits.h"

namespace espalier::solver {
namespace {

constexpr std::int32_t kNone = -1;

template <class Visit>
void for_each_edge(const SymmetricMatrix& matrix, Visit visit) {
  for (std::int32_t column = 0; column < matrix.size; ++column) {
    for (auto at = matrix.column_start[column]; at < matrix.column_start[column + 1];
         ++at) {
      if (matrix.row[at] != column) visit(matrix.row[at], column);
    }
  }
}

// Of each vertex with its neighbours.
std::vector<std::uint64_t> neighbourhood_hashes(const Graph& graph) {
  std::vector<std::uint64_t> hash(graph.size());
  for (std::int32_t vertex = 0; vertex < graph.size(); ++vertex) {
    hash[vertex] = mixed_bits(vertex);
    for (std::int32_t other : graph.neighbours(vertex)) hash[vertex] += mixed_bits(other);
  }
  return hash;
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

Graph adjacency(const SymmetricMatrix& matrix) {
  Graph graph;
  graph.start.assign(matrix.size + 1LL, 0);
  for_each_edge(matrix, [&](auto a, auto b) {
    ++graph.start[a + 1];
    ++graph.start[b + 1];
  });
  counts_to_starts(graph.start);
  graph.neighbour.resize(graph.start.back());
  for_each_edge(matrix, [&](auto a, auto b) {
    graph.neighbour[graph.start[a]++] = b;
    graph.neighbour[graph.start[b]++] = a;
  });
  cursors_to_starts(graph.start);
  return graph;
}

Groups indistinguishable_vertices(const Graph& graph) {
  const std::vector<std::uint64_t> hash = neighbourhood_hashes(graph);
  Groups groups{std::vector<std::int32_t>(graph.size(), kNone), 0};
  std::vector<std::int32_t> beside(graph.size(), kNone);  // beside[v] = u: v is next to u
  for (std::int32_t vertex = 0; vertex < graph.size(); ++vertex) {
    if (groups.of[vertex] != kNone) continue;
    groups.of[vertex] = groups.count;
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
