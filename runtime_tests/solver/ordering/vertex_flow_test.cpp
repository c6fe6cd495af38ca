#include "solver/ordering/vertex_flow.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "solver/support/graphs.h"

namespace espalier::solver {
namespace TEST_SOURCE {

FlowNetwork network_of(const Graph& graph, const std::vector<std::int32_t>& fed,
                       const std::vector<std::int32_t>& drained) {
  FlowNetwork network;
  network.start.assign(graph.start.begin(), graph.start.end());
  network.neighbour.assign(graph.neighbour.begin(), graph.neighbour.end());
  network.capacity.assign(graph.weight.begin(), graph.weight.end());
  network.fed.assign(graph.size(), false);
  network.drained.assign(graph.size(), false);
  for (const std::int32_t v : fed) network.fed[v] = true;
  for (const std::int32_t v : drained) network.drained[v] = true;
  return network;
}

std::vector<bool> members(std::uint32_t set, std::int32_t size) {
  std::vector<bool> result(size);
  for (std::int32_t v = 0; v < size; ++v) result[v] = (set >> v & 1) != 0;
  return result;
}

// All sets of vertices: the weight of the least that separate, and by vertex whether one
// of these leaves the vertex no way to the sink.
struct BruteForce {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::vector<bool> with_source;
};

BruteForce least_separators(const Graph& graph, const FlowNetwork& network) {
  BruteForce result;
  for (std::uint32_t set = 0; set < 1U << graph.size(); ++set) {
    const std::vector<bool> separator = members(set, graph.size());
    std::int64_t weight = 0;
    for (std::int32_t v = 0; v < graph.size(); ++v)
      if (separator[v]) weight += graph.weight[v];
    if (weight > result.least) continue;
    const std::vector<bool> to_sink = reached(graph, network.drained, separator);
    bool separates = true;
    for (std::int32_t v = 0; v < graph.size(); ++v)
      if (network.fed[v] && to_sink[v]) separates = false;
    if (!separates) continue;
    if (weight < result.least) result = {weight, std::vector<bool>(graph.size(), false)};
    for (std::int32_t v = 0; v < graph.size(); ++v)
      if (!separator[v] && !to_sink[v]) result.with_source[v] = true;
  }
  return result;
}

// The sides after `steps` are a separator of the flow's value.
void expect_least(const Graph& graph, const FlowNetwork& network, const VertexFlow& flow,
                  std::size_t steps) {
  const std::vector<std::int8_t> sides = flow.sides(steps);
  Partition partition{sides, {0, 0, 0}};
  for (std::int32_t v = 0; v < graph.size(); ++v) {
    partition.weight[sides[v]] += graph.weight[v];
    ASSERT_FALSE(network.fed[v] && sides[v] == 1);
    ASSERT_FALSE(network.drained[v] && sides[v] == 0);
  }
  expect_separates(graph, partition);
  ASSERT_EQ(partition.weight[2], flow.value());
}

// The header's example.
TEST(VertexFlow, FillsTwoWaysAroundASquare) {
  Graph square = graph_of(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  square.weight = {2, 1, 1, 3};
  VertexFlow flow(network_of(square, {0}, {3}));
  ASSERT_TRUE(flow.maximise());
  EXPECT_EQ(flow.value(), 2);
  EXPECT_EQ(flow.sides(flow.steps()), (std::vector<std::int8_t>{2, 1, 1, 1}));
  flow.grow(3);  // the sink's
  EXPECT_EQ(flow.sides(flow.steps()), (std::vector<std::int8_t>{2, 1, 1, 1}));
  flow.grow(0);
  EXPECT_EQ(flow.sides(flow.steps()), (std::vector<std::int8_t>{0, 2, 2, 1}));
  EXPECT_EQ(flow.source_weight(), 2);
}

TEST(VertexFlow, FindsTheLeastSeparatorsOfBruteForce) {
  std::mt19937 random(21);
  for (int instance = 0; instance < 400; ++instance) {
    const auto size = static_cast<std::int32_t>(1 + random() % 9);
    const Graph graph = with_weights(
        random_graph(random, size, static_cast<std::int32_t>(random() % (3 * size))),
        random, instance % 3 == 0 ? 1 : 5);
    const auto some = [&] {
      std::vector<std::int32_t> vertices;
      for (std::uint32_t k = random() % 4; k-- > 0;)
        vertices.push_back(static_cast<std::int32_t>(random() % size));
      return vertices;
    };
    const FlowNetwork network = network_of(graph, some(), some());
    const BruteForce expected = least_separators(graph, network);
    for (std::int32_t v = 0; v < size; ++v) {
      VertexFlow flow{FlowNetwork(network)};
      ASSERT_TRUE(flow.maximise());
      ASSERT_EQ(flow.value(), expected.least) << instance;
      const std::size_t before = flow.steps();
      flow.grow(v);
      const bool with_source = flow.sides(flow.steps())[v] == 0;
      ASSERT_EQ(with_source, expected.with_source[v]) << instance << ' ' << v;
      for (std::int32_t other = 0; other < size; ++other) flow.grow(other);
      for (const std::size_t steps : {before, flow.steps()})
        expect_least(graph, network, flow, steps);
    }
  }
}

TEST(VertexFlow, GoesThroughAMillionVerticesAndCarriesTwoToTheThirtyThrough) {
  constexpr std::int32_t kSize = 1'000'000, kMuch = 1 << 30;
  FlowNetwork chain;
  for (std::int32_t v = 0; v < kSize; ++v) {
    if (v > 0) chain.neighbour.push_back(v - 1);
    if (v + 1 < kSize) chain.neighbour.push_back(v + 1);
    chain.start.push_back(static_cast<std::int32_t>(chain.neighbour.size()));
  }
  chain.capacity.assign(kSize, kMuch);
  chain.fed.assign(kSize, false);
  chain.drained.assign(kSize, false);
  chain.fed.front() = chain.drained.back() = true;
  VertexFlow flow(std::move(chain));
  ASSERT_TRUE(flow.maximise());
  EXPECT_EQ(flow.value(), kMuch);
  flow.grow(kSize - 2);
  EXPECT_EQ(flow.source_weight(), std::int64_t{kMuch} * (kSize - 1));
  VertexFlow alone({{0, 0, 0, 0, 0},
                    {},
                    std::vector(4, kMuch),
                    std::vector(4, true),
                    std::vector(4, true)});
  ASSERT_TRUE(alone.maximise());
  EXPECT_EQ(alone.value(), 4LL * kMuch);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
