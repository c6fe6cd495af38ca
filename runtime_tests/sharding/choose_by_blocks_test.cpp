#include "espalier/sharding/choose_by_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <random>
#include <sstream>

#include "espalier/model/validate_sharding.h"
#include "espalier/sharding/block_chain.h"
#include "espalier/sharding/block_fronts.h"
#include "espalier/sharding/close_gap.h"
#include "espalier/sharding/eliminate.h"
#include "sharding/enumerate.h"

namespace espalier {
namespace TEST_SOURCE {

constexpr Bytes kPlenty = Bytes{1} << 60;

/// A chain of blocks of a few kinds: in each, some nodes read the cut before it or each
/// other, and the last one, which is the next cut, reads some of them.
class Chains {
 public:
  explicit Chains(unsigned seed) : random_(seed) {}

  ShardingProblem chain(int kinds, int blocks, Bytes limit) {
    std::vector<Kind> made;
    for (int k = 0; k < kinds; ++k) made.push_back(kind());
    std::vector<ShardingNode> nodes = {node()};
    std::vector<ShardingEdge> edges;
    for (int b = 0; b < blocks; ++b) {
      const auto before = static_cast<std::int32_t>(nodes.size()) - 1;
      const Kind& own = made[static_cast<std::size_t>(b % kinds)];
      std::ranges::copy(own.nodes, std::back_inserter(nodes));
      for (ShardingEdge edge : own.edges) {
        edge.first += before;
        edge.second += before;
        edges.push_back(std::move(edge));
      }
    }
    return {std::move(nodes), std::move(edges), limit};
  }
  int upto(int most) { return static_cast<int>(random_() % (unsigned(most) + 1)); }

 private:
  struct Kind {
    std::vector<ShardingNode> nodes;
    std::vector<ShardingEdge> edges;  // 0 is the cut before
  };

  ShardingNode node() {
    ShardingNode node{0, 1, {}, {}};
    for (int s = 0; s < 2; ++s) {
      node.costs.push_back(upto(9) == 0 ? kForbidden : upto(20));
      node.usages.push_back(upto(9));
    }
    return node;
  }

  Kind kind() {
    Kind made;
    const int size = 1 + upto(2);
    for (int k = 1; k <= size; ++k) {
      made.nodes.push_back(node());
      for (int from = 0; from < k; ++from) {
        if (from + 1 < k && upto(1) == 0) continue;
        ShardingEdge edge{from, k, {}};
        for (int entry = 0; entry < 4; ++entry)
          edge.costs.push_back(upto(15) == 0 ? kForbidden : upto(20));
        made.edges.push_back(std::move(edge));
      }
    }
    return made;
  }

  std::mt19937 random_;
};

std::string text_of(const ShardingProblem& problem) {
  std::ostringstream out;
  for (const ShardingNode& node : problem.nodes())
    out << "(" << node.costs[0] << " " << node.costs[1] << ", " << node.usages[0] << " "
        << node.usages[1] << ") ";
  for (const ShardingEdge& edge : problem.edges())
    out << edge.first << "-" << edge.second << " ";
  return out.str();
}

TEST(ChooseByBlocks, EqualsEnumerationWithAndWithoutFolding) {
  Chains chains(4);
  int held_back = 0;
  for (int k = 0; k < 1500; ++k) {
    const Bytes limit = k % 3 == 0 ? kPlenty : 10 + chains.upto(30);
    const ShardingProblem problem =
        chains.chain(1 + chains.upto(1), 1 + chains.upto(3), limit);
    const std::optional<Cost> least = enumerate(problem);
    for (const bool fold : {true, false}) {
      const BlockedChoice answer =
          choose_by_blocks(problem, kinds_of(problem), {.time = 5}, fold);
      ASSERT_TRUE(answer.choice.proved()) << text_of(problem) << limit;
      ASSERT_EQ(answer.choice.found, least.has_value()) << text_of(problem) << limit;
      if (!least) continue;
      ASSERT_EQ(answer.choice.cost, *least) << text_of(problem) << limit;
      ASSERT_EQ(validate(problem, answer.choice), Violations{}) << text_of(problem);
      held_back += limit < kPlenty ? 1 : 0;
    }
  }
  EXPECT_GT(held_back, 500);
}

TEST(ChooseByBlocks, SearchesEachBlockOnce) {
  Chains chains(8);
  const ShardingProblem problem = chains.chain(2, 40, kPlenty);
  const BlockedChoice folded = choose_by_blocks(problem, kinds_of(problem));
  const BlockedChoice whole = choose_by_blocks(problem, kinds_of(problem), {}, false);
  EXPECT_GE(folded.blocks, 41u);
  EXPECT_LE(folded.distinct_blocks, 7u);  // the first node, and at most three of a kind
  EXPECT_EQ(whole.distinct_blocks, whole.blocks);
  EXPECT_EQ(folded.choice.cost, whole.choice.cost);
  EXPECT_EQ(folded.choice.cost, choose_strategies(problem).cost);
}

TEST(ChooseByBlocks, LeavesOtherProblemsToTheGeneralSearch) {
  // An edge from a later node to an earlier one.
  const ShardingProblem problem({{0, 1, {3, 1}, {1, 1}}, {0, 1, {2, 5}, {1, 1}}},
                                {{1, 0, {0, 9, 4, 0}}}, kPlenty);
  const BlockedChoice answer = choose_by_blocks(problem, kinds_of(problem));
  EXPECT_EQ(answer.blocks, 0u);
  EXPECT_TRUE(answer.choice.proved());
  EXPECT_EQ(answer.choice.cost, *enumerate(problem));
}

TEST(BlockChain, BoundsAndCrossesWithinTheLimit) {
  Chains chains(6);
  int crossed = 0;
  for (int k = 0; k < 500; ++k) {
    const ShardingProblem problem = chains.chain(1, 1 + chains.upto(3), 10);
    const ProblemKinds kinds = kinds_of(problem);
    const BlockChain chain = *BlockChain::of(problem, kinds);
    const BlockWay fastest = *chain.best(0);
    const BlockWay lightest = *chain.best(BlockChain::kUsageAlone);
    if (fastest.cost >= kForbidden) continue;
    const Bytes limit = (fastest.usage + lightest.usage) / 2;
    const std::optional<Cost> least =
        enumerate({{problem.nodes().begin(), problem.nodes().end()},
                   {problem.edges().begin(), problem.edges().end()},
                   limit});
    ASSERT_TRUE(least) << text_of(problem);
    for (const double price : {0.0, 0.5, 2.0}) {
      const BlockWay way = *chain.best(price);
      const ShardingFigures figures = replay_sharding(problem, way.strategies);
      ASSERT_EQ(figures.cost, way.cost);
      ASSERT_EQ(figures.memory_bytes, way.usage);
      const double bound =
          static_cast<double>(way.cost) + price * static_cast<double>(way.usage - limit);
      ASSERT_LE(bound, static_cast<double>(*least)) << text_of(problem);
    }
    const auto between = chain.cross(fastest, lightest, 1, limit);
    if (!between) continue;
    ++crossed;
    ASSERT_LE(between->usage, limit);
    ASSERT_GE(between->cost, *least);
    ASSERT_EQ(replay_sharding(problem, between->strategies).cost, between->cost);
  }
  EXPECT_GT(crossed, 300);
}

// By fronts alone, from the lightest choice and no bound.
TEST(BlockFronts, CloseTheGapWithinTheLimit) {
  Chains chains(7);
  int closed = 0;
  for (int k = 0; k < 1000; ++k) {
    const ShardingProblem problem =
        chains.chain(1 + chains.upto(1), 1 + chains.upto(5), 10 + chains.upto(30));
    const ProblemKinds kinds = kinds_of(problem);
    const BlockChain chain = *BlockChain::of(problem, kinds, k % 2 == 0);
    const BlockWay lightest = *chain.best(BlockChain::kUsageAlone);
    if (lightest.cost >= kForbidden || lightest.usage > problem.limit()) continue;
    const BlockFronts fronts = *BlockFronts::of(chain);
    std::vector<std::int32_t> strategies = lightest.strategies;
    const CostGap gap =
        close_gap({lightest.cost, 0}, 0.25 * (1 + chains.upto(20)), problem.limit(),
                  {[&](PlanTables& tables) { return fronts.whole(tables); },
                   [&](const PlanTables& tables, const PlanPoint& plan) {
                     strategies = fronts.strategies(tables, plan);
                   }});
    ASSERT_TRUE(gap.closed()) << text_of(problem) << problem.limit();
    ASSERT_EQ(gap.cost, *enumerate(problem)) << text_of(problem) << problem.limit();
    const ShardingFigures figures = replay_sharding(problem, strategies);
    ASSERT_EQ(figures.cost, gap.cost) << text_of(problem);
    ASSERT_LE(figures.memory_bytes, problem.limit()) << text_of(problem);
    closed += gap.cost < lightest.cost ? 1 : 0;
  }
  EXPECT_GT(closed, 300);
}

TEST(BlockFronts, AreNotMadeWhereATableWouldBeTooLarge) {
  // Between two cuts, three nodes of 70 strategies that all read each other.
  const ShardingNode wide{0, 1, std::vector<Cost>(70, 1), std::vector<Bytes>(70, 1)};
  std::vector<ShardingEdge> edges;
  for (std::int32_t b = 1; b < 5; ++b)
    for (std::int32_t a = 0; a < b; ++a)
      edges.push_back({a, b, std::vector<Cost>(4900, 0)});
  const ShardingProblem problem(std::vector<ShardingNode>(5, wide), edges, kPlenty);
  const ProblemKinds kinds = kinds_of(problem);
  EXPECT_FALSE(BlockFronts::of(*BlockChain::of(problem, kinds)));
}

TEST(BlockChain, CutsWhereOneNodeIsAllThatIsRead) {
  // 0 -> 1 -> 2 and 0 -> 2, 2 -> 3: cuts 0, 2 and 3.
  const std::vector<ShardingNode> nodes(4, {0, 1, {0, 1}, {1, 0}});
  const std::vector<Cost> free(4, 0);
  const ShardingProblem problem(
      nodes, {{0, 1, free}, {1, 2, free}, {0, 2, free}, {2, 3, free}}, kPlenty);
  const ProblemKinds kinds = kinds_of(problem);
  EXPECT_EQ(kinds.nodes, (std::vector<std::int32_t>{0, 0, 0, 0}));
  const auto chain = BlockChain::of(problem, kinds);
  ASSERT_TRUE(chain);
  EXPECT_EQ(chain->size(), 3u);
  EXPECT_EQ(chain->best(0)->strategies, (std::vector<std::int32_t>{0, 0, 0, 0}));
  EXPECT_EQ(chain->best(BlockChain::kUsageAlone)->strategies,
            (std::vector<std::int32_t>{1, 1, 1, 1}));
}

TEST(Elimination, TakesTheLeastOverAllStates) {
  std::mt19937 random(2);
  for (int k = 0; k < 300; ++k) {
    const std::vector<std::size_t> states = {1 + random() % 3, 1 + random() % 3,
                                             1 + random() % 3, 1 + random() % 3};
    Elimination elimination(states);
    std::vector<std::pair<std::pair<std::size_t, std::size_t>, std::vector<double>>> all;
    for (std::size_t a = 0; a < 4; ++a) {
      for (std::size_t b = a + 1; b < 4; ++b) {
        if (random() % 3 == 0) continue;
        std::vector<double> values(states[a] * states[b]);
        for (double& value : values) value = static_cast<double>(random() % 50);
        all.push_back({{a, b}, values});
        elimination.add({a, b}, std::move(values));
      }
    }
    const auto sum = [&](const std::vector<std::int32_t>& chosen) {
      double total = 0;
      for (const auto& [at, values] : all)
        total += values[std::size_t(chosen[at.first]) * states[at.second] +
                        std::size_t(chosen[at.second])];
      return total;
    };
    ASSERT_TRUE(elimination.eliminate({1, 2}, 1000));
    const std::vector<double> rest = elimination.rest({0, 3});
    for (std::size_t a = 0; a < states[0]; ++a) {
      for (std::size_t d = 0; d < states[3]; ++d) {
        double least = std::numeric_limits<double>::infinity();
        std::vector<std::int32_t> chosen = {std::int32_t(a), 0, 0, std::int32_t(d)};
        for (std::size_t s = 0; s < states[1] * states[2]; ++s) {
          chosen[1] = std::int32_t(s / states[2]);
          chosen[2] = std::int32_t(s % states[2]);
          least = std::min(least, sum(chosen));
        }
        ASSERT_EQ(rest[a * states[3] + d], least);
        elimination.complete(chosen);
        ASSERT_EQ(sum(chosen), least);
      }
    }
  }
  Elimination narrow({3, 3, 3});
  narrow.add({0, 1, 2}, std::vector<double>(27, 0));
  EXPECT_FALSE(narrow.eliminate({1}, 10));
}

}  // namespace TEST_SOURCE
}  // namespace espalier
