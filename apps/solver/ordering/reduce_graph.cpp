#include "solver/ordering/reduce_graph.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace espalier::solver {
namespace {

constexpr double kHubNeighbours = 10;  // times sqrt(n), as AMD has it
constexpr std::int32_t kLeastHub = 16, kVerticesPerHub = 20;

std::vector<std::int32_t> degrees(const Graph& graph) {
  std::vector<std::int32_t> degree(graph.size());
  for (std::int32_t v = 0; v < graph.size(); ++v)
    degree[v] = static_cast<std::int32_t>(graph.neighbours(v).size());
  return degree;
}

std::vector<std::int32_t> hubs_of(const Graph& graph,
                                  const std::vector<std::int32_t>& degree) {
  const double usual = std::max<double>(
      kLeastHub, kHubNeighbours * std::sqrt(static_cast<double>(graph.size())));
  std::vector<std::int32_t> hubs;
  for (std::int32_t v = 0; v < graph.size(); ++v)
    if (degree[v] > usual) hubs.push_back(v);
  if (std::ssize(hubs) * kVerticesPerHub > graph.size()) return {};
  std::stable_sort(hubs.begin(), hubs.end(),
                   [&](auto a, auto b) { return degree[a] < degree[b]; });
  return hubs;
}

// Vertices with at most one neighbour that is not out, again and again; they are out
// then.
std::vector<std::int32_t> leaves(const Graph& graph, std::vector<std::int32_t> degree,
                                 std::vector<bool>& out) {
  std::vector<std::int32_t> order;
  for (std::int32_t v = 0; v < graph.size(); ++v)
    if (!out[v] && degree[v] <= 1) order.push_back(v);
  for (std::size_t k = 0; k < order.size(); ++k) {  // grows on the way
    const std::int32_t leaf = order[k];
    out[leaf] = true;
    if (degree[leaf] == 0) continue;
    for (const std::int32_t v : graph.neighbours(leaf))
      if (!out[v] && --degree[v] == 1) order.push_back(v);
  }
  return order;
}

// The subgraph of the vertices that are not out, in the place of the graph.
std::vector<std::int32_t> keep_core(Graph& graph, const std::vector<bool>& out,
                                    std::size_t out_count) {
  if (out_count == out.size()) {
    graph = {.start = {0}, .neighbour = {}, .weight = {}};
    return {};
  }
  std::vector<std::int32_t> core, number(graph.size(), 0);
  for (std::int32_t v = 0; v < graph.size(); ++v) {
    number[v] = static_cast<std::int32_t>(core.size());
    if (!out[v]) core.push_back(v);
  }
  UnsetVector<std::int64_t> start(1, 0);
  start.reserve(core.size() + 1);
  std::int64_t at = 0;  // never beyond what is being read
  for (std::size_t k = 0; k < core.size(); ++k) {
    for (const std::int32_t other : graph.neighbours(core[k]))
      if (!out[other]) graph.neighbour[at++] = number[other];
    start.push_back(at);
    if (!graph.weight.empty()) graph.weight[k] = graph.weight[core[k]];
  }
  graph.start = std::move(start);
  graph.neighbour.resize(at);
  if (!graph.weight.empty()) graph.weight.resize(core.size());
  return core;
}

}  // namespace

ReducedGraph reduce_graph(Graph&& graph, bool hubs) {
  ReducedGraph reduced;
  std::vector<std::int32_t> degree = degrees(graph);
  std::vector<bool> out(graph.size(), false);
  if (hubs) reduced.last = hubs_of(graph, degree);
  for (const std::int32_t hub : reduced.last) out[hub] = true;
  for (const std::int32_t hub : reduced.last)
    for (const std::int32_t v : graph.neighbours(hub)) --degree[v];
  reduced.first = leaves(graph, std::move(degree), out);
  if (reduced.first.empty() && reduced.last.empty()) {
    reduced.core.resize(graph.size());
    std::iota(reduced.core.begin(), reduced.core.end(), 0);
  } else {
    reduced.core = keep_core(graph, out, reduced.first.size() + reduced.last.size());
  }
  reduced.graph = std::move(graph);
  return reduced;
}

std::vector<std::int32_t> whole_order(const ReducedGraph& reduced,
                                      std::vector<std::int32_t> core_order) {
  if (reduced.first.empty() && reduced.last.empty()) return core_order;
  std::vector<std::int32_t> order = reduced.first;
  order.reserve(order.size() + core_order.size() + reduced.last.size());
  for (const std::int32_t vertex : core_order) order.push_back(reduced.core[vertex]);
  order.insert(order.end(), reduced.last.begin(), reduced.last.end());
  return order;
}

}  // namespace espalier::solver
