#include "solver/ordering/layered_separator.h"

#include <cstddef>
#include <span>
#include <vector>

namespace espalier::solver {
namespace {

// All vertices by their distance from the first one.
struct DistanceLayers {
  std::vector<std::int32_t> order;
  std::vector<std::size_t> first;  // of each layer, and one behind the last

  [[nodiscard]] std::size_t count() const { return first.size() - 1; }
  [[nodiscard]] std::span<const std::int32_t> layer(std::size_t k) const {
    return std::span(order).subspan(first[k], first[k + 1] - first[k]);
  }
};

DistanceLayers layers_from(const Graph& graph, std::int32_t start) {
  const auto size = static_cast<std::size_t>(graph.size());
  DistanceLayers layers{{start}, {0}};
  std::vector<bool> seen(size, false);
  seen[start] = true;
  layers.order.reserve(size);
  std::int32_t apart = 0;  // those before it have been seen
  for (std::size_t begin = 0; begin < layers.order.size();) {
    const std::size_t end = layers.order.size();
    layers.first.push_back(end);
    for (; begin < end; ++begin)
      for (const std::int32_t v : graph.neighbours(layers.order[begin])) {
        if (seen[v]) continue;
        seen[v] = true;
        layers.order.push_back(v);
      }
    if (layers.order.size() > end || end == size) continue;
    while (seen[apart]) ++apart;
    seen[apart] = true;
    layers.order.push_back(apart);
    layers.first.push_back(end);  // an empty layer, which separates the parts
  }
  return layers;
}

std::int64_t weight_of(const Graph& graph, std::span<const std::int32_t> vertices) {
  std::int64_t sum = 0;
  for (const std::int32_t v : vertices) sum += graph.weight[v];
  return sum;
}

std::size_t best_layer(const Graph& graph, const DistanceLayers& layers) {
  const std::int64_t total = total_weight(graph);
  std::int64_t before = 0;
  Partition best;
  std::size_t best_layer = 0;
  for (std::size_t k = 0; k < layers.count(); ++k) {
    const std::int64_t weight = weight_of(graph, layers.layer(k));
    const Partition here{{}, {before, total - before - weight, weight}};
    if (k == 0 || is_better(here, best)) {
      best = here;
      best_layer = k;
    }
    before += weight;
  }
  return best_layer;
}

Partition separated_at(const Graph& graph, const DistanceLayers& layers,
                       std::size_t separator) {
  Partition partition{std::vector<std::int8_t>(graph.size()), {0, 0, 0}};
  for (std::size_t k = 0; k < layers.count(); ++k) {
    const std::int8_t side = k < separator   ? 0
                             : k > separator ? 1
                                             : Partition::kSeparator;
    for (const std::int32_t v : layers.layer(k)) partition.side[v] = side;
    partition.weight[side] += weight_of(graph, layers.layer(k));
  }
  return partition;
}

}  // namespace

Partition layered_separator(const Graph& graph, std::int32_t vertex) {
  const DistanceLayers layers = layers_from(graph, far_from(graph, vertex));
  return separated_at(graph, layers, best_layer(graph, layers));
}

}  // namespace espalier::solver
