#include "espalier/sharding/cut_chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <random>

namespace espalier {
namespace TEST_SOURCE {

RotorTable table_of(std::vector<Stage> stages, Bytes output = 0) {
  return RotorTable(std::make_shared<const Chain>(std::move(stages), output));
}

/// k_s of one-forward-one-backward.
std::vector<std::int64_t> under_way(int p, int m) {
  std::vector<std::int64_t> result;
  for (int s = 0; s < p; ++s) result.push_back(std::min(p - s, m));
  return result;
}

TEST(CutChain, GivesTheWorkedExample) {
  // 8 layers: f = 1, b = 2, x = 1 (the output, too), x̄ = 2, weights 2.
  const RotorTable table = table_of(std::vector<Stage>(8, {1, 2, 1, 2, 0, 0}), 1);
  const std::vector<Bytes> weights(8, 2);
  struct Row {
    int p, m;
    Bytes bound;
    Nanoseconds longest;  // 0: none
  };
  for (const Row row : {Row{4, 8, 16, 0},
                        {4, 8, 20, 9},
                        {4, 8, 24, 7},
                        {4, 8, 32, 6},
                        {2, 4, 16, 20},
                        {2, 4, 20, 15},
                        {2, 4, 24, 14},
                        {2, 4, 32, 12}}) {
    const auto cut = cut_chain(table, weights, under_way(row.p, row.m), row.bound);
    EXPECT_EQ(cut ? cut->longest : 0, row.longest) << row.p << " " << row.bound;
  }
}

struct CutQuestion {
  std::vector<Stage> stages;
  Bytes output;
  std::vector<Bytes> weights;
  std::vector<std::int64_t> under_way;  // of each part
  Bytes bound;
};

// Every cut; a part costs what the curve of a chain of its own says. The largest number
// where none fits.
Nanoseconds best_by_enumeration(const CutQuestion& question) {
  const auto n = static_cast<int>(question.stages.size());
  const auto p = static_cast<int>(question.under_way.size());
  Nanoseconds best = std::numeric_limits<Nanoseconds>::max();
  std::function<void(int, int, Nanoseconds)> cut_from = [&](int s, int i,
                                                            Nanoseconds longest) {
    if (s == p) {
      if (i == n) best = std::min(best, longest);
      return;
    }
    Bytes fixed = 0;
    for (int t = i; t < n; ++t) {
      fixed += question.weights[static_cast<std::size_t>(t)];
      const RotorTable part =
          table_of({question.stages.begin() + i, question.stages.begin() + t + 1},
                   t + 1 < n ? question.stages[static_cast<std::size_t>(t) + 1].input
                             : question.output);
      Nanoseconds cost = -1;
      for (const BudgetPoint& point : part.curve())
        if (point.bytes * question.under_way[static_cast<std::size_t>(s)] + fixed <=
            question.bound)
          cost = point.cost;
      if (cost >= 0) cut_from(s + 1, t + 1, std::max(longest, cost));
    }
  };
  cut_from(0, 0, 0);
  return best;
}

TEST(CutChain, MatchesEnumerationOnSmallChains) {
  std::mt19937 random(3);
  const auto upto = [&](int most) { return static_cast<int>(random() % (most + 1u)); };
  for (int instance = 0; instance < 1500; ++instance) {
    const int n = 2 + upto(5), p = 1 + upto(std::min(n, 4) - 1);
    std::vector<Stage> stages;
    std::vector<Bytes> weights;
    for (int i = 0; i <= n; ++i) stages.push_back({1 + upto(3), 0, upto(3), upto(4)});
    const Bytes output = stages.back().input;
    stages.pop_back();
    for (int i = 0; i < n; ++i) {
      const auto k = static_cast<std::size_t>(i);
      stages[k].saved = (i + 1 < n ? stages[k + 1].input : output) + upto(3);
      weights.push_back(upto(4));
    }
    const RotorTable table = table_of(stages, output);
    const auto k = under_way(p, 1 + upto(4));
    const Bytes bound = 5 + upto(40);
    const Nanoseconds best =
        best_by_enumeration({stages, output, weights, {k.begin(), k.end()}, bound});
    const auto cut = cut_chain(table, weights, k, bound);
    ASSERT_EQ(cut.has_value(), best < std::numeric_limits<Nanoseconds>::max())
        << "instance " << instance;
    if (cut) {
      ASSERT_EQ(cut->longest, best) << "instance " << instance;
      std::int64_t next = 0;
      for (const ChainCut::Part& part : cut->parts) {
        ASSERT_EQ(part.first, next);
        next = part.last + 1;
        ASSERT_LE(part.cost, cut->longest);
      }
      ASSERT_EQ(next, n);
    } else {
      const Bytes least = cut.error().least_bytes;
      ASSERT_GT(least, bound);
      ASSERT_TRUE(cut_chain(table, weights, k, least)) << "instance " << instance;
      ASSERT_FALSE(cut_chain(table, weights, k, least - 1)) << "instance " << instance;
    }
  }
}

TEST(CutChain, RefusesBadQuestions) {
  const RotorTable table = table_of(std::vector<Stage>(2, {1, 2, 1, 2}), 1);
  const std::vector<Bytes> weights{1, 1};
  EXPECT_THROW((void)cut_chain(table, weights, std::vector<std::int64_t>{1, 1, 1}, 99),
               InvalidInput);
  EXPECT_THROW((void)cut_chain(table, weights, std::vector<std::int64_t>{}, 99),
               InvalidInput);
  EXPECT_THROW((void)cut_chain(table, weights, std::vector<std::int64_t>{0}, 99),
               InvalidInput);
  EXPECT_THROW(
      (void)cut_chain(table, std::vector<Bytes>{1}, std::vector<std::int64_t>{1}, 99),
      InvalidInput);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
