#include "policy/core/sequential_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace espalier::policy {
namespace TEST_SOURCE {

// Two of 5 are needed until something that is not executed has passed.
TEST(SequentialRun, WhatPassesComesAfterWhatIsBeforeIt) {
  SequentialRun run;
  run.append(5);
  run.append(5);
  const SequentialRun::Number passed = run.pass();
  run.append(3);
  run.frees(passed, 10);
  EXPECT_EQ(run.least(), 10);
  run.end(0);
  run.end(3);
  run.end(1);
  EXPECT_EQ(run.least(), 10);
  run.append(4);
  EXPECT_EQ(run.least(), 10);
  run.holds(8);
  EXPECT_EQ(run.least(), 15);
}

// 5, then 5 + 3, of which 5 are given back, then 3 + 4.
TEST(SequentialRun, FollowsAnExample) {
  SequentialRun run;
  EXPECT_EQ(run.least(), 0);
  EXPECT_EQ(run.append(5), 0U);
  EXPECT_EQ(run.append(3), 1U);
  run.frees(1, 5);
  EXPECT_EQ(run.append(4), 2U);
  EXPECT_EQ(run.least(), 8);
  run.end(1);
  EXPECT_EQ(run.least(), 8);
  run.end(0);
  EXPECT_EQ(run.least(), 8);
  run.allocates_more(2, 10);
  EXPECT_EQ(run.least(), 3 + 14);
}

// What tasks free that have ended long ago counts for those that follow.
TEST(SequentialRun, LateFreesOfEndedTasksCount) {
  SequentialRun run;
  run.append(6);
  run.end(0);
  run.frees(0, 6);
  run.append(5);
  EXPECT_EQ(run.least(), 6);
}

TEST(SequentialRun, IsTheDefinitionWhateverHasEnded) {
  struct Task {
    Bytes alloc, free;
    bool ended;
  };
  std::mt19937 random(17);
  for (int round = 0; round < 500; ++round) {
    SequentialRun run;
    std::vector<Task> tasks;
    const auto task = [&] { return random() % tasks.size(); };
    // An end fixes what was the peak until then, so that only later ones may change.
    Bytes seen = 0;
    for (int step = 0; step < 60; ++step) {
      if (tasks.empty() || random() % 3 == 0) {
        const auto alloc = static_cast<Bytes>(random() % 10);
        EXPECT_EQ(run.append(alloc), tasks.size());
        tasks.push_back({alloc, 0, false});
      } else if (const std::size_t i = task(); random() % 2 == 0) {
        if (tasks[i].free >= tasks[i].alloc) continue;
        ++tasks[i].free;
        run.frees(i, 1);
      } else if (!tasks[i].ended) {
        tasks[i].ended = true;
        run.end(i);
      }
      Bytes memory = 0, peak = 0;
      for (const Task& t : tasks) {
        peak = std::max(peak, memory + t.alloc);
        memory += t.alloc - t.free;
      }
      EXPECT_GE(run.least(), peak);
      seen = std::max(seen, peak);
      EXPECT_LE(run.least(), seen);
    }
  }
}

TEST(SequentialRun, KeepsLargeNumbers) {
  constexpr Bytes kLarge = (Bytes{1} << 62) - 1;
  SequentialRun run;
  run.append(kLarge);
  run.frees(0, kLarge);
  run.append(kLarge);
  run.end(0);
  EXPECT_EQ(run.least(), kLarge);
}

// What is freed after a wait could not be freed before the tasks that were waited for.
TEST(SequentialRun, FreesLateWhatNobodyKnewOfBefore) {
  SequentialRun early, late;
  for (SequentialRun* const run : {&early, &late})
    for (int i = 0; i < 4; ++i) run->append(10);
  for (SequentialRun* const run : {&early, &late}) run->end(2);
  early.frees(0, 10);
  late.frees_late(0, 10);
  EXPECT_EQ(early.least(), 30);
  EXPECT_EQ(late.least(), 30) << "the fourth";
  early.frees(1, 10);
  late.frees_late(1, 10);
  EXPECT_EQ(early.least(), 20);
  EXPECT_EQ(late.least(), 30) << "the third";
  late.frees_late(3, 10);
  EXPECT_EQ(late.least(), 30);
}

TEST(SequentialRun, HoldsWhatIsOfNoTask) {
  SequentialRun run;
  const auto first = run.append(10);
  run.frees(first, 10);
  run.holds(50);
  EXPECT_EQ(run.least(), 60);
  run.end(first);
  run.holds(-50);
  const auto second = run.append(20);
  run.frees(second, 20);
  run.end(second);
  EXPECT_EQ(run.least(), 60);
  run.holds(70);
  EXPECT_EQ(run.least(), 70);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
