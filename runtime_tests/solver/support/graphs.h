#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "solver/ordering/graph.h"
#include "solver/ordering/vertex_separator.h"

namespace espalier::solver {

using Edges = std::vector<std::pair<std::int32_t, std::int32_t>>;

/// Without loops, each edge once.
inline Graph graph_of(std::int32_t size, const Edges& edges) {
  std::vector<std::set<std::int32_t>> sets(size);
  for (const auto& [a, b] : edges) {
    if (a == b) continue;
    sets[a].insert(b);
    sets[b].insert(a);
  }
  Graph graph;
  graph.start.assign(1, 0);
  for (const auto& set : sets) {
    graph.neighbour.insert(graph.neighbour.end(), set.begin(), set.end());
    graph.start.push_back(std::ssize(graph.neighbour));
  }
  return graph;
}

inline Graph with_weights(Graph graph, std::mt19937& random, std::uint32_t most) {
  for (std::int32_t v = 0; v < graph.size(); ++v)
    graph.weight.push_back(static_cast<std::int32_t>(1 + random() % most));
  return graph;
}

inline Graph random_graph(std::mt19937& random, std::int32_t size, std::int32_t edges) {
  Edges list;
  for (std::int32_t k = 0; k < edges; ++k)
    list.emplace_back(random() % size, random() % size);
  return graph_of(size, list);
}

/// Each vertex next to those around it, diagonally too.
inline Graph king_graph(std::int32_t width, std::int32_t height) {
  Edges edges;
  for (std::int32_t v = 0; v < width * height; ++v)
    for (std::int32_t other = 0; other < v; ++other)
      if (std::abs(v % width - other % width) <= 1 && v / width - other / width <= 1)
        edges.emplace_back(v, other);
  return graph_of(width * height, edges);
}

/// What is reached from some vertices through those that are not in the way.
inline std::vector<bool> reached(const Graph& graph, const std::vector<bool>& from,
                                 const std::vector<bool>& in_the_way) {
  std::vector<bool> seen(graph.size(), false);
  for (bool more = true; more;) {
    more = false;
    for (std::int32_t v = 0; v < graph.size(); ++v) {
      if (seen[v] || in_the_way[v]) continue;
      bool now = from[v];
      for (const std::int32_t other : graph.neighbours(v)) now = now || seen[other];
      seen[v] = now;
      more = more || now;
    }
  }
  return seen;
}

/// Neighbours are not on different sides, and weights are what they should be.
inline void expect_separates(const Graph& graph, const Partition& partition) {
  std::array<std::int64_t, 3> weight{};
  for (std::int32_t v = 0; v < graph.size(); ++v) {
    weight[partition.side[v]] += graph.weight[v];
    for (const std::int32_t other : graph.neighbours(v))
      ASSERT_NE(partition.side[v] + partition.side[other], 1) << v << ' ' << other;
  }
  ASSERT_EQ(weight, partition.weight);
}

}  // namespace espalier::solver
