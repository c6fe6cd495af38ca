#include "policy/core/longest_gap.h"

#include <gtest/gtest.h>

#include <thread>

namespace espalier::policy {
namespace TEST_SOURCE {

TEST(LongestGap, IsTheLongestTimeInWhichNoTaskIsExecuted) {
  LongestGap gap;
  gap.begins(10);
  gap.starts(11);
  gap.stops(12);
  gap.starts(15);
  gap.stops(16);
  gap.starts(18);
  gap.stops(18);
  EXPECT_EQ(gap.longest(30, false), 3);
}

TEST(LongestGap, ALongTaskIsNoStandingStill) {
  LongestGap gap;
  gap.begins(10);
  gap.starts(11);
  EXPECT_EQ(gap.longest(500, true), 1);
  gap.stops(1000);
  EXPECT_EQ(gap.longest(1000, false), 1);
}

// What comes between a function's end and StarPU's word of it: a worker that waits for
// StarPU-MPI's lock.
TEST(LongestGap, WhatAWorkerWaitsForAfterItsTaskCounts) {
  LongestGap gap;
  gap.begins(10);
  gap.starts(10);
  ASSERT_EQ(LongestGap::of_this_thread(), &gap);
  LongestGap::of_this_thread()->stops(11);
  EXPECT_EQ(LongestGap::of_this_thread(), nullptr);
  gap.stops(20);
  gap.starts(21);
  gap.stops(22);
  EXPECT_EQ(gap.longest(22, false), 10);
}

TEST(LongestGap, OtherThreadsTasksCount) {
  LongestGap gap;
  gap.begins(10);
  gap.starts(10);
  std::thread([&] {
    gap.starts(11);
    EXPECT_EQ(gap.longest(20, true), 0);
    gap.stops(20);
  }).join();
  gap.stops(12);  // told late
  EXPECT_EQ(gap.longest(25, true), 5);
}

TEST(LongestGap, TimeWithoutTasksDoesNotCount) {
  LongestGap gap;
  gap.begins(10);
  gap.starts(11);
  gap.stops(11);
  gap.begins(100);
  gap.starts(102);
  gap.stops(103);
  EXPECT_EQ(gap.longest(200, false), 2);
}

TEST(LongestGap, WhatLastsCounts) {
  LongestGap gap;
  EXPECT_EQ(gap.longest(5, false), 0);
  gap.begins(10);
  gap.starts(10);
  gap.stops(11);
  EXPECT_EQ(gap.longest(15, true), 4);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
