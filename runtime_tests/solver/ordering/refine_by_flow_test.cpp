#include "solver/ordering/refine_by_flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "solver/ordering/vertex_flow.h"
#include "solver/support/graphs.h"

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr auto kNone = std::numeric_limits<std::int64_t>::max();

FlowNetwork network_of(const Graph& graph, const std::vector<std::int32_t>& fed,
                       const std::vector<std::int32_t>& drained) {
  FlowNetwork network;
  network.start.assign(graph.start.begin(), graph.start.end());
  network.neighbour = graph.neighbour;
  network.capacity = graph.weight;
  network.fed.assign(graph.size(), false);
  network.drained.assign(graph.size(), false);
  for (const std::int32_t v : fed) network.fed[v] = true;
  for (const std::int32_t v : drained) network.drained[v] = true;
  return network;
}

// What is reached from some vertices through those that are not in the way.
std::vector<bool> reached(const Graph& graph, const std::vector<bool>& from,
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

std::vector<bool> members(std::uint32_t set, std::int32_t size) {
  std::vector<bool> result(size);
  for (std::int32_t v = 0; v < size; ++v) result[v] = (set >> v & 1) != 0;
  return result;
}

// All sets of vertices: the weight of the least that separate, and by vertex whether one
// of these leaves the vertex no way to the sink.
struct BruteForce {
  std::int64_t least = kNone;
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

// The separator goes down the columns 9 and 10 of 20 and has 4 vertices; a column has 3.
// The band is columns 7 to 12. Of its layers on the first side the second has column 8
// and what is left of column 9, which is taken first and brings both along.
TEST(RefineByFlow, StraightensAStep) {
  Graph graph = king_graph(20, 3);
  graph.weight.assign(graph.size(), 1);
  Partition partition{std::vector<std::int8_t>(graph.size()), {28, 28, 4}};
  for (std::int32_t v = 0; v < graph.size(); ++v) {
    const std::int32_t x = v % 20, y = v / 20;
    const bool separates = (x == 9 && y < 2) || (x == 10 && y > 0);
    partition.side[v] = static_cast<std::int8_t>(separates ? Partition::kSeparator
                                                 : x < 9 || (x == 9 && y == 2) ? 0
                                                                               : 1);
  }
  expect_separates(graph, partition);
  ASSERT_TRUE(refine_by_flow(graph, partition));
  expect_separates(graph, partition);
  EXPECT_EQ(partition.weight, (std::array<std::int64_t, 3>{30, 27, 3}));
  EXPECT_FALSE(refine_by_flow(graph, partition));
}

// By the header's rule, by distances over and over.
std::vector<bool> band_of(const Graph& graph, const Partition& partition) {
  std::vector<bool> band(graph.size());
  std::int64_t vertices = 0;
  for (std::int32_t v = 0; v < graph.size(); ++v) {
    band[v] = partition.side[v] == Partition::kSeparator;
    vertices += band[v];
  }
  for (const int side : {0, 1}) {
    std::int64_t count = 0, weight = 0;
    for (;;) {
      std::vector<bool> wider = band;
      std::int64_t added = 0;
      for (std::int32_t v = 0; v < graph.size(); ++v) {
        if (band[v] || partition.side[v] != side) continue;
        for (const std::int32_t other : graph.neighbours(v))
          if (band[other]) wider[v] = true;
        if (!wider[v]) continue;
        ++added;
        weight += graph.weight[v];
      }
      count += added;
      if (added == 0 || 10 * weight > 3 * partition.weight[side] || count > 3 * vertices)
        break;
      band = wider;
    }
  }
  return band;
}

// Of all sets in the band that separate what is left of the sides.
std::int64_t least_in_band(const Graph& graph, const Partition& partition) {
  const std::vector<bool> band = band_of(graph, partition);
  std::vector<bool> first(graph.size());
  for (std::int32_t v = 0; v < graph.size(); ++v)
    first[v] = !band[v] && partition.side[v] == 0;
  std::vector<std::int32_t> free;
  for (std::int32_t v = 0; v < graph.size(); ++v)
    if (band[v]) free.push_back(v);
  std::int64_t least = kNone;
  for (std::uint32_t set = 0; set < 1U << free.size(); ++set) {
    std::vector<bool> separator(graph.size(), false);
    std::int64_t weight = 0;
    for (std::size_t k = 0; k < free.size(); ++k)
      if ((set >> k & 1) != 0) {
        separator[free[k]] = true;
        weight += graph.weight[free[k]];
      }
    if (weight >= least) continue;
    const std::vector<bool> from_first = reached(graph, first, separator);
    bool separates = true;
    for (std::int32_t v = 0; v < graph.size(); ++v)
      if (from_first[v] && !band[v] && partition.side[v] == 1) separates = false;
    if (separates) least = weight;
  }
  return least;
}

TEST(RefineByFlow, FindsTheLeastOfTheBandAndNeverMakesASeparatorWorse) {
  std::mt19937 random(22);
  int better = 0;
  for (int instance = 0; instance < 300; ++instance) {
    const auto size = static_cast<std::int32_t>(4 + random() % 26);
    const Graph graph = with_weights(
        random_graph(random, size, static_cast<std::int32_t>(size + random() % size)),
        random, instance % 2 ? 1 : 5);
    Partition partition{std::vector<std::int8_t>(size), {0, 0, 0}};
    for (std::int8_t& side : partition.side)
      side = static_cast<std::int8_t>(random() % 8 == 0 ? 2 : random() % 2);
    for (std::int32_t v = 0; v < size; ++v)  // till no edge joins the sides
      for (const std::int32_t other : graph.neighbours(v))
        if (partition.side[v] + partition.side[other] == 1) partition.side[v] = 2;
    for (std::int32_t v = 0; v < size; ++v)
      partition.weight[partition.side[v]] += graph.weight[v];
    if (std::ranges::count(band_of(graph, partition), true) > 13) continue;
    const Partition before = partition;
    const bool found = refine_by_flow(graph, partition);
    expect_separates(graph, partition);
    better += found;
    ASSERT_EQ(is_better(partition, before), found) << instance;
    if (found)
      ASSERT_EQ(partition.weight[2], least_in_band(graph, before)) << instance;
    else
      ASSERT_EQ(partition.side, before.side) << instance;
  }
  EXPECT_GT(better, 30);
}

TEST(RefineByFlow, LeavesAloneWhatHasASideOrASeparatorOfNothing) {
  Graph graph = king_graph(9, 2);
  graph.weight.assign(graph.size(), 1);
  for (const int all : {0, 1, 2}) {
    Partition partition{
        std::vector<std::int8_t>(graph.size(), static_cast<std::int8_t>(all)), {0, 0, 0}};
    partition.weight[all] = graph.size();
    EXPECT_FALSE(refine_by_flow(graph, partition));
    EXPECT_EQ(std::ranges::count(partition.side, all), graph.size());
  }
  Graph two = graph_of(2, {});
  two.weight = {1, 1};
  Partition apart{{0, 1}, {1, 1, 0}};
  EXPECT_FALSE(refine_by_flow(two, apart));
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
