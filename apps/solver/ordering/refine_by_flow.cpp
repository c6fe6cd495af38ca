#include "solver/ordering/refine_by_flow.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "solver/ordering/vertex_flow.h"

namespace espalier::solver {
namespace {

constexpr double kPartInBand = 0.3;      // of a side's weight, at most
constexpr std::size_t kWidthOfBand = 2;  // of a side's vertices, for one of the separator
// Edge ends of a band: at most a fourth of the graph's, but any few, and no more than
// offsets of 32 bits can say.
constexpr std::int64_t kGraphForBand = 4, kFewInBand = 1 << 20, kMostInBand = 1 << 30;
constexpr std::int32_t kOutsideBand = -1, kInsideBand = 0;

// The vertices around a separator that may come into it: side 0's, those that are
// farthest from it first, the separator's, side 1's.
struct Band {
  std::vector<std::int32_t> vertices;
  std::vector<std::int32_t> place;  // of each vertex of the graph; kOutsideBand
};

// Those of a side, the nearest first.
std::vector<std::int32_t> layers_beside(const Graph& graph, const Partition& partition,
                                        const std::vector<std::int32_t>& separator,
                                        std::int8_t side,
                                        std::vector<std::int32_t>& place) {
  const auto heaviest = static_cast<std::int64_t>(
      kPartInBand * static_cast<double>(partition.weight[side]));
  const std::size_t most = kWidthOfBand * separator.size();
  std::vector<std::int32_t> layers, from = separator, layer;
  std::int64_t weight = 0;
  for (;; std::swap(from, layer)) {
    layer.clear();
    for (const std::int32_t v : from)
      for (const std::int32_t other : graph.neighbours(v)) {
        if (partition.side[other] != side || place[other] != kOutsideBand) continue;
        place[other] = kInsideBand;
        weight += graph.weight[other];
        layer.push_back(other);
      }
    if (layer.empty()) return layers;
    if (weight > heaviest || layers.size() + layer.size() > most) break;
    layers.insert(layers.end(), layer.begin(), layer.end());
  }
  for (const std::int32_t v : layer) place[v] = kOutsideBand;
  return layers;
}

Band band_around(const Graph& graph, const Partition& partition) {
  Band band{{}, std::vector<std::int32_t>(graph.size(), kOutsideBand)};
  const std::vector<std::int32_t> separator = separator_of(partition);
  band.vertices = layers_beside(graph, partition, separator, 0, band.place);
  std::ranges::reverse(band.vertices);
  band.vertices.insert(band.vertices.end(), separator.begin(), separator.end());
  const auto beyond = layers_beside(graph, partition, separator, 1, band.place);
  band.vertices.insert(band.vertices.end(), beyond.begin(), beyond.end());
  for (std::size_t k = 0; k < band.vertices.size(); ++k)
    band.place[band.vertices[k]] = static_cast<std::int32_t>(k);
  return band;
}

bool has_too_many_edges(const Band& band, const Graph& graph) {
  std::int64_t ends = 0;
  for (const std::int32_t v : band.vertices) ends += std::ssize(graph.neighbours(v));
  return ends > std::clamp(graph.start.back() / kGraphForBand, kFewInBand, kMostInBand);
}

// The band's own edges; what is fed has a neighbour on side 0 outside of it, what is
// drained one on side 1.
FlowNetwork network_in(const Band& band, const Graph& graph, const Partition& partition) {
  const std::size_t size = band.vertices.size();
  FlowNetwork network;
  network.start.assign(size + 1, 0);
  network.fed.assign(size, false);
  network.drained.assign(size, false);
  for (std::size_t k = 0; k < size; ++k) {
    const std::int32_t v = band.vertices[k];
    network.capacity.push_back(graph.weight[v]);
    std::int32_t inside = 0;
    for (const std::int32_t other : graph.neighbours(v)) {
      if (band.place[other] != kOutsideBand)
        ++inside;
      else
        (partition.side[other] == 0 ? network.fed : network.drained)[k] = true;
    }
    network.start[k + 1] = network.start[k] + inside;
  }
  network.neighbour.resize(network.start.back());
  // Each list ascends, as it gets one entry from each neighbour in turn.
  std::vector<std::int32_t> next(network.start.begin(), network.start.end() - 1);
  for (std::size_t k = 0; k < size; ++k)
    for (const std::int32_t other : graph.neighbours(band.vertices[k]))
      if (const std::int32_t to = band.place[other]; to != kOutsideBand)
        network.neighbour[next[to]++] = static_cast<std::int32_t>(k);
  return network;
}

// The best of the least separators while the first side takes the band's vertices, until
// it is the heavier one.
struct GrownCut {
  Partition weights;
  std::size_t steps;  // of the flow
};

GrownCut best_cut(VertexFlow& flow, std::int64_t outside, std::int64_t total,
                  std::int32_t size) {
  const auto here = [&] {
    const std::int64_t first = outside + flow.source_weight();
    return Partition{{}, {first, total - first - flow.value(), flow.value()}};
  };
  GrownCut best{here(), flow.steps()};
  for (std::int32_t k = 0; k < size; ++k) {
    flow.grow(k);
    const Partition next = here();
    if (is_better(next, best.weights)) best = {next, flow.steps()};
    if (next.weight[0] > next.weight[1]) break;
  }
  return best;
}

}  // namespace

bool refine_by_flow(const Graph& graph, Partition& partition) {
  const auto& weight = partition.weight;
  if (weight[0] == 0 || weight[1] == 0 || weight[2] == 0) return false;
  const Band band = band_around(graph, partition);
  if (has_too_many_edges(band, graph)) return false;
  std::int64_t outside = weight[0];  // of side 0
  for (const std::int32_t v : band.vertices)
    if (partition.side[v] == 0) outside -= graph.weight[v];
  VertexFlow flow(network_in(band, graph, partition));
  if (!flow.maximise(weight[2])) return false;
  const GrownCut best = best_cut(flow, outside, weight[0] + weight[1] + weight[2],
                                 static_cast<std::int32_t>(band.vertices.size()));
  if (!is_better(best.weights, partition)) return false;
  const std::vector<std::int8_t> sides = flow.sides(best.steps);
  for (std::size_t k = 0; k < sides.size(); ++k)
    partition.side[band.vertices[k]] = sides[k];
  partition.weight = best.weights.weight;
  return true;
}

}  // namespace espalier::solver
