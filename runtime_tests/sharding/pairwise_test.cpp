// What simplify() makes of a problem: followers that join, sections that are left out.

#include "espalier/sharding/pairwise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "espalier/sharding/dominance.h"
#include "espalier/sharding/join_followers.h"
#include "espalier/sharding/keep_sections.h"

namespace espalier {
namespace TEST_SOURCE {

constexpr double kNo = Pairwise::kNever;

void add_variable(Pairwise& pairwise, std::vector<double> costs) {
  const auto v = static_cast<std::int32_t>(pairwise.size());
  pairwise.members.push_back({v, pairwise.strategies.size()});
  pairwise.first_member.push_back(pairwise.members.size());
  for (std::size_t s = 0; s < costs.size(); ++s)
    pairwise.strategies.push_back(static_cast<std::int32_t>(s));
  pairwise.costs.insert(pairwise.costs.end(), costs.begin(), costs.end());
  pairwise.first_state.push_back(pairwise.costs.size());
  pairwise.first_hold.push_back(pairwise.holds.size());
  pairwise.fixed.push_back(-1);
}

// Of the last variable.
void add_hold(Pairwise& pairwise, std::int32_t from, std::int32_t to,
              const std::vector<Bytes>& usages) {
  pairwise.holds.push_back({from, to, pairwise.usages.size()});
  pairwise.usages.insert(pairwise.usages.end(), usages.begin(), usages.end());
  pairwise.first_hold.back() = pairwise.holds.size();
}

void add_edge(Pairwise& pairwise, std::int32_t a, std::int32_t b,
              const std::vector<double>& costs) {
  pairwise.edges.push_back({a, b, pairwise.pair_costs.size()});
  pairwise.pair_costs.insert(pairwise.pair_costs.end(), costs.begin(), costs.end());
}

// Two nodes that lie as a third one does, the second the other way round, and a fourth
// one that two of them go to.
TEST(JoinFollowers, AddsUpWhatFollows) {
  Pairwise pairwise;
  pairwise.room = {10, 10};
  add_variable(pairwise, {1, 2});
  add_hold(pairwise, 0, 1, {5, 6});
  add_variable(pairwise, {10, 20});
  add_hold(pairwise, 0, 1, {1, 2});
  add_variable(pairwise, {100, 200});
  add_hold(pairwise, 1, 2, {3, 4});
  add_variable(pairwise, {0, 0});
  add_edge(pairwise, 0, 1, {0, kNo, kNo, 3});
  add_edge(pairwise, 1, 2, {kNo, 4, 0, kNo});
  add_edge(pairwise, 0, 3, {1, 2, 3, 4});
  add_edge(pairwise, 2, 3, {10, 20, 30, 40});
  pairwise.link();
  const auto joined = join_followers(pairwise);
  ASSERT_TRUE(joined);
  ASSERT_EQ(joined->size(), 2);
  EXPECT_EQ(joined->costs,
            (std::vector<double>{1 + 10 + 200 + 4, 2 + 20 + 100 + 3, 0, 0}));
  EXPECT_EQ(joined->pair_costs, (std::vector<double>{1 + 30, 2 + 40, 3 + 10, 4 + 20}));
  ASSERT_EQ(joined->holds.size(), 2);
  EXPECT_EQ(joined->usages, (std::vector<Bytes>{5 + 1, 6 + 2, 4, 3}));
  const std::vector<std::int32_t> states = {1, 0};
  EXPECT_EQ(strategies_of(*joined, states), (std::vector<std::int32_t>{1, 1, 0, 0}));
  EXPECT_FALSE(join_followers(*joined));
}

// One that has fewer states joins only if pair costs do not grow.
TEST(JoinFollowers, NeverMakesMorePairCosts) {
  for (const std::size_t others : {0, 1, 2, 3}) {
    Pairwise pairwise;
    add_variable(pairwise, {0, 0, 0, 0});
    add_variable(pairwise, {0, 0});
    add_edge(pairwise, 0, 1, {0, kNo, 0, kNo, kNo, 0, kNo, 0});
    for (std::size_t k = 0; k < others; ++k) {
      add_variable(pairwise, {0, 0});
      add_edge(pairwise, 1, 2 + std::int32_t(k), {0, 1, 2, 3});
    }
    pairwise.link();
    const auto joined = join_followers(pairwise);
    EXPECT_EQ(joined.has_value(), others <= 2) << others;  // 8 entries, 4 more for each
    if (!joined) continue;
    EXPECT_LE(joined->pair_costs.size(), pairwise.pair_costs.size());
  }
}

// Whether no section holds more than there is room for.
bool fits(const Pairwise& pairwise, const std::vector<std::size_t>& states) {
  std::vector<Bytes> room = pairwise.room;
  for (std::size_t v = 0; v < pairwise.size(); ++v)
    for (const Pairwise::Hold& hold : pairwise.holds_of(v))
      for (std::int32_t t = hold.from; t < hold.to; ++t)
        room[std::size_t(t)] -= pairwise.usages[hold.first + states[v]];
  return std::ranges::all_of(room, [](Bytes left) { return left >= 0; });
}

// Variables of three states, held at up to ten times, a few times over.
Pairwise random_holds(std::mt19937& random, int more_room) {
  const auto upto = [&](int most) { return static_cast<int>(random() % (most + 1u)); };
  Pairwise pairwise;
  const int sections = 1 + upto(9);
  for (int t = 0; t < sections; ++t) pairwise.room.push_back(12 + upto(more_room));
  for (int v = 1 + upto(3); v >= 0; --v) {
    add_variable(pairwise, {0, 0, 0});
    for (int h = upto(4); h > 0; --h) {
      const int from = upto(sections - 1), to = from + upto(sections - from);
      add_hold(pairwise, from, to, {upto(6), upto(6), upto(2)});
    }
  }
  return pairwise;
}

// @return whether there was one: states of each variable counted up, the first fastest
bool next_choice(std::vector<std::size_t>& states) {
  for (std::size_t& state : states) {
    if (++state < 3) return true;
    state = 0;
  }
  return false;
}

TEST(KeepSections, LeavesTheSameChoicesInsideTheLimit) {
  std::mt19937 random(1);
  std::size_t before = 0, after = 0;
  int inside = 0, choices = 0;
  for (int round = 0; round < 1000; ++round) {
    const Pairwise pairwise = random_holds(random, round % 3);
    Pairwise kept = pairwise;
    keep_sections(kept);
    before += pairwise.room.size();
    after += kept.room.size();
    std::vector<std::size_t> states(pairwise.size());
    do {
      const bool fitting = fits(pairwise, states);
      ASSERT_EQ(fits(kept, states), fitting) << round;
      ++choices;
      inside += fitting ? 1 : 0;
    } while (next_choice(states));
  }
  EXPECT_LT(2 * after, before);
  EXPECT_GT(10 * inside, choices);
  EXPECT_GT(10 * (choices - inside), choices);
}

TEST(DropOversized, LeavesEveryStateOfAChoiceInsideTheLimit) {
  std::mt19937 random(2);
  int gone = 0;
  for (int round = 0; round < 500; ++round) {
    Pairwise pairwise = random_holds(random, round % 3);
    for (Bytes& room : pairwise.room) room -= 4;
    std::vector<char> alive(pairwise.costs.size(), 1);
    const bool any = drop_oversized(pairwise, alive);
    ASSERT_EQ(any, std::ranges::count(alive, 0) > 0);
    gone += static_cast<int>(std::ranges::count(alive, 0));
    std::vector<std::size_t> states(pairwise.size());
    do {
      if (!fits(pairwise, states)) continue;
      for (std::size_t v = 0; v < states.size(); ++v)
        ASSERT_NE(alive[pairwise.first_state[v] + states[v]], 0) << round;
    } while (next_choice(states));
  }
  EXPECT_GT(gone, 100);
}

// Of 10, 3 are left beside the least of both, 4 and 3.
TEST(DropOversized, WorkedExample) {
  Pairwise pairwise;
  pairwise.room = {10};
  add_variable(pairwise, {0, 0, 0});
  add_hold(pairwise, 0, 1, {4, 7, 8});
  add_variable(pairwise, {0, 0});
  add_hold(pairwise, 0, 1, {3, 6});
  std::vector<char> alive(5, 1);
  EXPECT_TRUE(drop_oversized(pairwise, alive));
  EXPECT_EQ(alive, (std::vector<char>{1, 1, 0, 1, 1}));
}

TEST(KeepSections, SaysWhereThereIsNoRoom) {
  Pairwise pairwise;
  pairwise.room = {3, -1, 3};
  add_variable(pairwise, {0, 0});
  add_hold(pairwise, 0, 1, {1, 2});
  keep_sections(pairwise);
  EXPECT_TRUE(pairwise.impossible);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
