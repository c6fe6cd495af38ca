// choose_strategies(): enumeration on small problems, limits, extremes.

#include "espalier/sharding/choose_strategies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/model/validate_sharding.h"
#include "sharding/enumerate.h"

namespace espalier {
namespace TEST_SOURCE {

using Random = std::mt19937_64;

std::string describe(const ShardingProblem& problem) {
  std::string text = fmt::format("limit {}\n", problem.limit());
  for (const ShardingNode& node : problem.nodes())
    text += fmt::format("[{}, {}) costs {} usages {}\n", node.from, node.to,
                        fmt::join(node.costs, " "), fmt::join(node.usages, " "));
  for (const ShardingEdge& edge : problem.edges())
    text +=
        fmt::format("{}-{}: {}\n", edge.first, edge.second, fmt::join(edge.costs, " "));
  return text;
}

struct Shape {
  std::size_t nodes = 5, most_strategies = 3, more_edges = 3;
  bool chain = false;
  std::uint64_t forbidden = 10;  // of a hundred costs
  bool followers = false;        // most nodes have to lie as one before them does
};

ShardingProblem random_problem(const Shape& shape, Random& random) {
  const auto cost = [&](std::uint64_t most) {
    return random() % 100 < shape.forbidden ? kForbidden
                                            : static_cast<Cost>(random() % most);
  };
  std::vector<ShardingNode> nodes(shape.nodes);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].from = shape.chain ? std::int64_t(i) : std::int64_t(random() % 8);
    nodes[i].to = nodes[i].from + std::int64_t(random() % 4);
    const std::size_t count = 1 + random() % shape.most_strategies;
    for (std::size_t s = 0; s < count; ++s) {
      nodes[i].costs.push_back(cost(20));
      nodes[i].usages.push_back(Bytes(random() % 12));
    }
  }
  std::vector<ShardingEdge> edges;
  const auto join = [&](std::size_t a, std::size_t b) {
    ShardingEdge edge{std::int32_t(a), std::int32_t(b), {}};
    edge.costs.resize(nodes[a].costs.size() * nodes[b].costs.size());
    const std::size_t columns = nodes[b].costs.size(), shift = random() % 3;
    const bool follows = shape.followers && random() % 4 != 0;
    for (std::size_t k = 0; k < edge.costs.size(); ++k)
      edge.costs[k] = follows && (k / columns + shift) % columns != k % columns
                          ? kForbidden
                          : cost(30);
    edges.push_back(std::move(edge));
  };
  for (std::size_t i = 1; i < nodes.size(); ++i)
    join(shape.chain ? i - 1 : random() % i, i);
  for (std::size_t k = 0; k < shape.more_edges && !shape.chain; ++k) {
    const std::size_t a = random() % nodes.size(), b = random() % nodes.size();
    if (a != b) join(a, b);
  }
  return {std::move(nodes), std::move(edges), Bytes(5 + random() % 25)};
}

void expect_enumerated(const ShardingProblem& problem) {
  const std::optional<Cost> least = enumerate(problem);
  const ShardingChoice choice = choose_strategies(problem, {.rounds = 100'000});
  ASSERT_EQ(choice.found, least.has_value()) << describe(problem);
  ASSERT_TRUE(choice.proved()) << describe(problem);
  ASSERT_FALSE(choice.stopped) << describe(problem);
  if (!least) {
    ASSERT_TRUE(choice.impossible) << describe(problem);
    return;
  }
  ASSERT_EQ(choice.cost, *least) << describe(problem);
  ASSERT_EQ(choice.lower_bound, *least) << describe(problem);
  ASSERT_EQ(validate(problem, choice), Violations()) << describe(problem);
}

// Where nothing fits, the memory that is named is the least if what holds least is
// allowed.
TEST(ChooseStrategies, NamesTheLeastMemoryWhereNothingFits) {
  const ShardingChoice one = choose_strategies({{{4, 5, {6, 1}, {3, 4}}}, {}, 2});
  EXPECT_TRUE(one.impossible);
  EXPECT_EQ(one.least_memory_bytes, 3);
  const std::vector<ShardingNode> nodes = {{0, 2, {0, 3}, {4, 2}},
                                           {1, 3, {1, 1}, {4, 3}}};
  EXPECT_EQ(choose_strategies({nodes, {{0, 1, {0, 5, 7, 1}}}, 4}).least_memory_bytes, 5);
  const ShardingChoice other =
      choose_strategies({nodes, {{0, 1, {0, 5, kForbidden, 1}}}, 4});
  EXPECT_TRUE(other.impossible);
  EXPECT_EQ(other.least_memory_bytes, 5);
}

TEST(ChooseStrategies, WorkedExample) {
  const std::vector<ShardingNode> nodes = {{0, 2, {0, 3}, {4, 2}},
                                           {1, 3, {1, 1}, {4, 3}}};
  const std::vector<ShardingEdge> edges = {{0, 1, {0, 5, 7, 1}}};
  for (const auto& [limit, cost] :
       {std::pair<Bytes, Cost>{8, 1}, {7, 5}, {6, 5}, {5, 5}}) {
    const ShardingProblem problem(nodes, edges, limit);
    const ShardingChoice choice = choose_strategies(problem);
    EXPECT_EQ(choice.cost, cost) << limit;
    EXPECT_TRUE(choice.proved());
  }
  const ShardingChoice none = choose_strategies({nodes, edges, 4});
  EXPECT_FALSE(none.found);
  EXPECT_TRUE(none.impossible);
  EXPECT_EQ(none.lower_bound_bytes, 5);
}

TEST(ChooseStrategies, MatchesEnumerationOnSmallGraphs) {
  Random random(1);
  for (int round = 0; round < 2000; ++round) {
    const Shape shape{.nodes = 1 + random() % 6,
                      .most_strategies = 2 + random() % 3,
                      .more_edges = random() % 6,
                      .forbidden = round % 3 == 0 ? 30u : 5u};
    ASSERT_NO_FATAL_FAILURE(expect_enumerated(random_problem(shape, random)));
  }
}

TEST(ChooseStrategies, MatchesEnumerationOnChains) {
  Random random(2);
  for (int round = 0; round < 1000; ++round) {
    const Shape shape{.nodes = 1 + random() % 7,
                      .most_strategies = 3,
                      .chain = true,
                      .forbidden = random() % 20};
    ASSERT_NO_FATAL_FAILURE(expect_enumerated(random_problem(shape, random)));
  }
}

TEST(ChooseStrategies, MatchesEnumerationWhereNodesFollowOthers) {
  Random random(6);
  for (int round = 0; round < 2000; ++round) {
    const Shape shape{.nodes = 2 + random() % 7,
                      .most_strategies = 3,
                      .more_edges = random() % 3,
                      .forbidden = random() % 4,
                      .followers = true};
    ASSERT_NO_FATAL_FAILURE(expect_enumerated(random_problem(shape, random)));
  }
}

// Whatever ends the search, the bound holds and the limit is kept.
TEST(ChooseStrategies, ABoundHoldsWhereverTheSearchEnds) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    const ShardingProblem problem = random_problem({.nodes = 7, .more_edges = 8}, random);
    const std::optional<Cost> least = enumerate(problem);
    for (const std::int64_t rounds : {0, 1, 3, 10}) {
      const ShardingChoice choice = choose_strategies(problem, {.rounds = rounds});
      if (least) {
        ASSERT_LE(choice.lower_bound, *least) << describe(problem);
        ASSERT_FALSE(choice.impossible) << describe(problem);
      }
      if (!choice.found) continue;
      ASSERT_TRUE(least) << describe(problem);
      ASSERT_EQ(validate(problem, choice), Violations()) << describe(problem);
      ASSERT_GE(choice.cost, *least) << describe(problem);
    }
  }
}

TEST(ChooseStrategies, NeverCostsMoreWithMoreMemory) {
  Random random(4);
  for (int round = 0; round < 50; ++round) {
    const ShardingProblem problem =
        random_problem({.nodes = 12, .most_strategies = 4, .more_edges = 8}, random);
    Cost before = kForbidden;
    for (const Bytes limit : {10, 20, 30, 60, 200}) {
      const ShardingProblem limited({problem.nodes().begin(), problem.nodes().end()},
                                    {problem.edges().begin(), problem.edges().end()},
                                    limit);
      const ShardingChoice choice = choose_strategies(limited, {.rounds = 100'000});
      ASSERT_TRUE(choice.proved());
      if (!choice.found) continue;
      ASSERT_LE(choice.cost, before) << describe(limited);
      before = choice.cost;
    }
  }
}

TEST(ChooseStrategies, TheSameRoundsGiveTheSameChoice) {
  Random random(5);
  const ShardingProblem problem =
      random_problem({.nodes = 60, .most_strategies = 6, .more_edges = 60}, random);
  const ShardingProblem roomy({problem.nodes().begin(), problem.nodes().end()},
                              {problem.edges().begin(), problem.edges().end()}, 150);
  const ShardingOptions options{.time = 1e6, .rounds = 30, .seed = 9};
  EXPECT_EQ(choose_strategies(roomy, options).strategies,
            choose_strategies(roomy, options).strategies);
}

// The manual's file: what holds least is within the limit, however short the search is.
TEST(ChooseStrategies, AShortSearchFindsWhatHoldsLeast) {
  const ShardingProblem problem({{0, 2, {0, 3}, {4, 2}}, {1, 3, {1, 1}, {4, 3}}},
                                {{0, 1, {0, 5, 7, 1}}}, 7);
  for (std::int64_t rounds = 0; rounds <= 10; ++rounds) {
    const ShardingChoice choice = choose_strategies(problem, {.rounds = rounds});
    ASSERT_TRUE(choice.found) << rounds;
    EXPECT_EQ(choice.cost, 5) << rounds;
    EXPECT_LE(choice.lower_bound, 5) << rounds;
  }
}

TEST(ChooseStrategies, Extremes) {
  const ShardingChoice nothing = choose_strategies(ShardingProblem({}, {}, 0));
  EXPECT_TRUE(nothing.found);
  EXPECT_TRUE(nothing.proved());
  EXPECT_EQ(nothing.cost, 0);

  // Nothing is allowed.
  const ShardingChoice never =
      choose_strategies(ShardingProblem({{0, 1, {kForbidden}, {0}}}, {}, 10));
  EXPECT_TRUE(never.impossible);

  // Sizes near 2^62, and costs near the largest sum.
  const Bytes large = Bytes{1} << 61;
  const Cost dear = kForbidden / 3;
  const ShardingProblem problem(
      {{0, 2, {0, dear}, {large, 1}}, {1, 2, {0, dear}, {large, 1}}}, {}, large + 1);
  const ShardingChoice choice = choose_strategies(problem);
  EXPECT_EQ(choice.cost, dear);
  EXPECT_TRUE(choice.proved());
  EXPECT_EQ(choice.memory_bytes, large + 1);

  // A long chain.
  std::vector<ShardingNode> nodes;
  std::vector<ShardingEdge> edges;
  for (std::int32_t i = 0; i < 20'000; ++i) {
    nodes.push_back({i, i + 2, {i % 3, i % 5}, {2, 1}});
    if (i > 0) edges.push_back({i - 1, i, {0, 2, 2, 0}});
  }
  const ShardingProblem chain(std::move(nodes), std::move(edges), 3);
  const ShardingChoice chosen = choose_strategies(chain, {.rounds = 30});
  ASSERT_TRUE(chosen.found);
  EXPECT_EQ(validate(chain, chosen), Violations());
}

TEST(ChooseStrategies, StopsWhenTheCallerWantsNoMore) {
  Random random(6);
  const ShardingProblem problem = random_problem(
      {.nodes = 3000, .most_strategies = 8, .more_edges = 9000, .forbidden = 0}, random);
  const ShardingProblem roomy({problem.nodes().begin(), problem.nodes().end()},
                              {problem.edges().begin(), problem.edges().end()}, 6000);
  int calls = 0;
  const ShardingChoice choice = choose_strategies(
      roomy,
      {.time = 1e6, .progress = [&](const ShardingProgress&) { return ++calls < 3; }});
  EXPECT_TRUE(choice.stopped);
  EXPECT_EQ(calls, 3);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
