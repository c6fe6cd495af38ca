#include "espalier/sequential/series_parallel/two_terminal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/series_parallel.h"

namespace espalier {
namespace TEST_SOURCE {

using support::ArcList;

// Whether the reductions, searched for anew each time, leave one arc.
bool reduces_to_one_arc(const ArcList& list) {
  std::multiset<std::pair<std::size_t, std::size_t>> arcs;
  for (std::size_t v = 0; v < list.tasks; ++v) {
    const auto touches = [v](TaskId Arc::*end) {
      return [v, end](const Arc& arc) { return index(arc.*end) == v; };
    };
    if (std::none_of(list.arcs.begin(), list.arcs.end(), touches(&Arc::to))) {
      arcs.emplace(list.tasks, v);
    }
    if (std::none_of(list.arcs.begin(), list.arcs.end(), touches(&Arc::from))) {
      arcs.emplace(v, list.tasks + 1);
    }
  }
  for (const Arc& arc : list.arcs) arcs.emplace(index(arc.from), index(arc.to));
  for (bool changed = true; changed;) {
    changed = false;
    for (auto arc = arcs.begin(); arc != arcs.end();) {
      changed |= arcs.count(*arc) > 1;
      arc = arcs.count(*arc) > 1 ? arcs.erase(arc) : std::next(arc);
    }
    for (std::size_t v = 0; v < list.tasks; ++v) {
      auto in = arcs.end(), out = arcs.end();
      int number = 0;
      for (auto arc = arcs.begin(); arc != arcs.end(); ++arc) {
        if (arc->second == v) in = arc;
        if (arc->first == v) out = arc;
        number += arc->second == v || arc->first == v ? 1 : 0;
      }
      if (number != 2 || in == arcs.end() || out == arcs.end()) continue;
      arcs.emplace(in->first, out->second);
      arcs.erase(in);
      arcs.erase(out);
      changed = true;
    }
  }
  return arcs.size() <= 1;
}

TEST(TwoTerminal, TakesADiamondApart) {
  const std::vector<Arc> arcs = {{task_id(0), task_id(1)},
                                 {task_id(0), task_id(2)},
                                 {task_id(1), task_id(3)},
                                 {task_id(2), task_id(3)}};
  const auto decomposition = two_terminal_decomposition(4, arcs);
  ASSERT_TRUE(decomposition);
  EXPECT_EQ(decomposition->arcs, 6U);
  EXPECT_EQ(decomposition->steps.size(), 5U);
  EXPECT_EQ(std::count_if(decomposition->steps.begin(), decomposition->steps.end(),
                          [](const Reduction& step) {
                            return step.kind == Reduction::Kind::kParallel;
                          }),
            1);
}

TEST(TwoTerminal, NamesWhatIsNotSeriesParallel) {
  // The bridge 0 1 2 3, and a chain 3 4 5 that is reduced away.
  const std::vector<Arc> arcs = {{task_id(0), task_id(1)}, {task_id(0), task_id(2)},
                                 {task_id(1), task_id(2)}, {task_id(1), task_id(3)},
                                 {task_id(2), task_id(3)}, {task_id(3), task_id(4)},
                                 {task_id(4), task_id(5)}};
  const auto decomposition = two_terminal_decomposition(6, arcs);
  ASSERT_FALSE(decomposition);
  EXPECT_EQ(decomposition.error().tasks,
            (std::vector{task_id(0), task_id(1), task_id(2), task_id(3)}));
  EXPECT_EQ(decomposition.error().arcs.size(), 5U);
  EXPECT_EQ(
      decomposition.error().message(),
      "not series-parallel: 4 tasks and 5 arcs remain that no reduction applies to: "
      "0 -> 1, 0 -> 2, 1 -> 2, 1 -> 3, …");
}

TEST(TwoTerminal, RecognisesWhatRepeatedSearchDoes) {
  std::mt19937 random(1982);
  int yes = 0, no = 0;
  for (int k = 0; k < 10000; ++k) {
    const std::size_t tasks = 1 + support::draw(random, 8);
    const ArcList list = k % 2 == 0 ? support::random_arcs(random, tasks)
                                    : support::random_series_parallel(random, tasks);
    const auto decomposition = two_terminal_decomposition(list.tasks, list.arcs);
    ASSERT_EQ(decomposition.has_value(), reduces_to_one_arc(list))
        << support::describe(support::with_sizes(random, list, 0));
    ++(decomposition ? yes : no);
  }
  EXPECT_GT(yes, 5000);
  EXPECT_GT(no, 1000);
}

// Steps put the graph together again: each is applied to the arcs' ends.
TEST(TwoTerminal, StepsAreReductions) {
  std::mt19937 random(1983);
  for (int k = 0; k < 2000; ++k) {
    const ArcList list =
        support::random_series_parallel(random, 1 + support::draw(random, 20));
    const auto decomposition = two_terminal_decomposition(list.tasks, list.arcs);
    ASSERT_TRUE(decomposition);
    std::vector<std::set<std::size_t>> inside(decomposition->arcs);
    std::vector<bool> gone(decomposition->arcs, false);
    for (const Reduction& step : decomposition->steps) {
      const auto kept = static_cast<std::size_t>(step.kept);
      const auto removed = static_cast<std::size_t>(step.removed);
      ASSERT_FALSE(gone[kept] || gone[removed] || kept == removed);
      gone[removed] = true;
      inside[kept].merge(inside[removed]);
      if (step.kind == Reduction::Kind::kSeries) {
        ASSERT_TRUE(inside[kept].insert(index(step.vertex)).second);
      }
    }
    const auto all = static_cast<std::size_t>(decomposition->all);
    EXPECT_FALSE(gone[all]);
    EXPECT_EQ(inside[all].size(), list.tasks);
  }
}

TEST(TwoTerminal, OfNothingAndOfOneTask) {
  EXPECT_EQ(two_terminal_decomposition(0, {})->all, kNoArc);
  EXPECT_EQ(two_terminal_decomposition(1, {})->steps.size(), 1U);
}

TEST(TwoTerminal, HandlesLargeGraphsOfAnyShape) {
  for (const support::ArcShape& shape : support::kArcShapes) {
    const ArcList list = shape.make(50'000);
    EXPECT_TRUE(two_terminal_decomposition(list.tasks, list.arcs)) << shape.name;
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier
