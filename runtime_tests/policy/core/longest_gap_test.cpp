#include "policy/core/longest_gap.h"

#include <gtest/gtest.h>

namespace espalier::policy {
namespace {

TEST(LongestGap, IsTheLongestTimeWithoutTheEndOfATask) {
  LongestGap gap;
  gap.begins(10);
  gap.task_ended(11);
  gap.task_ended(14);
  gap.task_ended(16);
  EXPECT_EQ(gap.longest(30, false), 3);
}

TEST(LongestGap, TimeWithoutTasksDoesNotCount) {
  LongestGap gap;
  gap.begins(10);
  gap.task_ended(11);
  gap.begins(100);
  gap.task_ended(102);
  EXPECT_EQ(gap.longest(200, false), 2);
}

TEST(LongestGap, WhatLastsCounts) {
  LongestGap gap;
  EXPECT_EQ(gap.longest(5, false), 0);
  gap.begins(10);
  gap.task_ended(11);
  EXPECT_EQ(gap.longest(15, true), 4);
}

// Ends are told by several threads, each of which looked at the clock before.
TEST(LongestGap, MomentsOutOfOrderDoNoHarm) {
  LongestGap gap;
  gap.begins(10);
  gap.task_ended(12);
  gap.task_ended(11);
  gap.task_ended(13);
  EXPECT_EQ(gap.longest(20, false), 2);
}

}  // namespace
}  // namespace espalier::policy
