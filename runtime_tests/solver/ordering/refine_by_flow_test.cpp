#include "solver/ordering/refine_by_flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "solver/support/graphs.h"

namespace espalier::solver {
namespace TEST_SOURCE {

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
      if (added == 0 || 10 * weight > 3 * partition.weight[side] || count > 2 * vertices)
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
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
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

// Separators of many vertices at random.
struct Cut {
  Graph graph;
  Partition partition;
};

Cut random_cut(std::mt19937& random, std::uint32_t most_weight) {
  const auto size = static_cast<std::int32_t>(4 + random() % 26);
  const Graph graph = with_weights(
      random_graph(random, size, static_cast<std::int32_t>(size + random() % size)),
      random, most_weight);
  Partition partition{std::vector<std::int8_t>(size), {0, 0, 0}};
  for (std::int8_t& side : partition.side)
    side = static_cast<std::int8_t>(random() % 8 == 0 ? 2 : random() % 2);
  for (std::int32_t v = 0; v < size; ++v)  // till no edge joins the sides
    for (const std::int32_t other : graph.neighbours(v))
      if (partition.side[v] + partition.side[other] == 1) partition.side[v] = 2;
  for (std::int32_t v = 0; v < size; ++v)
    partition.weight[partition.side[v]] += graph.weight[v];
  return {graph, partition};
}

// A long graph in its middle: a few vertices, and the band ends by their number.
Cut middle_of_long_graph(std::mt19937& random, std::uint32_t most_weight) {
  const auto size = static_cast<std::int32_t>(40 + random() % 40);
  Edges edges;
  for (std::int32_t v = 1; v < size; ++v)
    for (int k = 0; k < 2; ++k)
      edges.emplace_back(v, std::max(0, v - 1 - static_cast<std::int32_t>(random() % 3)));
  const Graph graph = with_weights(graph_of(size, edges), random, most_weight);
  Partition partition{std::vector<std::int8_t>(size, 0), {0, 0, 0}};
  for (std::int32_t v = 0; v < size; ++v) {
    std::int8_t& side = partition.side[v];
    if (v >= size / 2) {
      side = 1;
      for (const std::int32_t other : graph.neighbours(v))
        if (other < size / 2) side = Partition::kSeparator;
    }
    partition.weight[side] += graph.weight[v];
  }
  return {graph, partition};
}

TEST(RefineByFlow, FindsTheLeastOfTheBandAndNeverMakesASeparatorWorse) {
  std::mt19937 random(22);
  int better = 0, better_of_long = 0;
  for (int instance = 0; instance < 600; ++instance) {
    const std::uint32_t most_weight = instance % 2 ? 1 : 5;
    const bool is_long = instance % 4 < 2;
    const Cut cut = is_long ? middle_of_long_graph(random, most_weight)
                            : random_cut(random, most_weight);
    const auto& [graph, before] = cut;
    expect_separates(graph, before);
    if (std::ranges::count(band_of(graph, before), true) > 13) continue;
    Partition partition = before;
    const bool found = refine_by_flow(graph, partition);
    expect_separates(graph, partition);
    (is_long ? better_of_long : better) += found;
    ASSERT_EQ(is_better(partition, before), found) << instance;
    if (found)
      ASSERT_EQ(partition.weight[2], least_in_band(graph, before)) << instance;
    else
      ASSERT_EQ(partition.side, before.side) << instance;
  }
  EXPECT_GT(better, 30);
  EXPECT_GT(better_of_long, 30);
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
