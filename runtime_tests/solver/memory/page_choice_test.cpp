#include "solver/memory/page_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr Bytes kHuge = PageChoice::kHugePage;

// Takes `bytes` where a small page costs `small` a byte and a huge one `huge`; returns
// the bytes that were taken as huge pages.
Bytes take(PageChoice& choice, Bytes bytes, double small, double huge) {
  Bytes as_huge = 0;
  while (bytes > 0) {
    const PageChoice::Step step = choice.next(bytes);
    EXPECT_GT(step.bytes, 0);
    EXPECT_LE(step.bytes, bytes);
    EXPECT_LE(step.bytes, PageChoice::kLongest);
    if (step.priced)
      choice.paid(step, (step.huge ? huge : small) * static_cast<double>(step.bytes));
    if (step.huge) as_huge += step.bytes;
    bytes -= step.bytes;
  }
  return as_huge;
}

// A choice that knows both prices, which are those of more than clearing.
PageChoice learned(double small, double huge) {
  PageChoice choice;
  EXPECT_EQ(take(choice, 2 * kHuge, small, huge), kHuge);
  return choice;
}

TEST(PageChoice, TriesNoSmallPagesWhereHugeOnesCostWhatClearingDoes) {
  PageChoice choice;
  EXPECT_EQ(take(choice, 100 * kHuge, 0, 0.9 * PageChoice::kClearing), 100 * kHuge);
}

TEST(PageChoice, TriesSmallPagesWhereTheFirstHugeOneIsDearer) {
  PageChoice choice;
  EXPECT_EQ(take(choice, 100 * kHuge, PageChoice::kClearing, 2 * PageChoice::kClearing),
            kHuge);
}

TEST(PageChoice, TakesHugePagesWhereTheyAreCheaper) {
  PageChoice choice = learned(1, 0.1);
  EXPECT_EQ(take(choice, 100 * kHuge, 1, 0.1), 100 * kHuge);
}

TEST(PageChoice, TriesTheDearerKindNowAndThen) {
  PageChoice choice = learned(1, 10);
  EXPECT_EQ(take(choice, 3 * PageChoice::kBetweenTrials, 1, 10), 2 * kHuge);
}

// Of huge pages one is priced now and then: others may be found when they are used.
TEST(PageChoice, PricesAHugePageNowAndThen) {
  PageChoice choice = learned(1, 0.1);
  Bytes since = 0;
  int priced = 0;
  for (int i = 0; i < 400; ++i) {
    const PageChoice::Step step = choice.next((1 + i % 3) * kHuge);
    since += step.bytes;
    if (!step.priced) continue;
    EXPECT_EQ(step.bytes, kHuge);
    EXPECT_LE(since, PageChoice::kLongest + 4 * kHuge);
    since = 0;
    ++priced;
    choice.paid(step, 0.1 * static_cast<double>(step.bytes));
  }
  EXPECT_GT(priced, 10);
  EXPECT_LT(priced, 60);
}

TEST(PageChoice, FollowsPricesThatChange) {
  PageChoice choice = learned(1, 0.1);
  // Dearer from now on: until a few have been priced, then small pages.
  EXPECT_EQ(take(choice, PageChoice::kBetweenTrials / 2, 1, 10),
            PageChoice::kRemembered * (PageChoice::kLongest + kHuge));
  // Cheap again: found by the next trial.
  take(choice, PageChoice::kBetweenTrials, 1, 0.1);
  EXPECT_EQ(take(choice, 10 * kHuge, 1, 0.1), 10 * kHuge);
}

TEST(PageChoice, OneTrialThatWasDisturbedChangesNothing) {
  PageChoice choice = learned(1, 0.1);
  for (int i = 0; i < 100; ++i) {
    const PageChoice::Step step = choice.next(kHuge);
    ASSERT_TRUE(step.huge);
    if (step.priced)
      choice.paid(step, (i % 3 == 0 ? 20 : 0.1) * static_cast<double>(step.bytes));
  }
}

// What one huge page at least begins where one may; what is before that, and what is less
// than one, is small.
TEST(PageChoice, HasHugePagesWhereOneFits) {
  PageChoice choice(true);
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    const auto bytes = static_cast<Bytes>(1 + random() % (4 * kHuge));
    const auto before = static_cast<Bytes>(i % 2 == 0 ? 0 : random() % kHuge);
    const PageChoice::Step step = choice.next(bytes, before);
    EXPECT_EQ(step.huge, before == 0 && bytes >= kHuge);
    if (before > 0)
      EXPECT_EQ(step.bytes, std::min(before, bytes));
    else
      EXPECT_EQ(step.bytes, bytes < kHuge ? bytes : bytes / kHuge * kHuge);
    EXPECT_FALSE(step.priced);
  }
}

TEST(PageChoice, TakesHugePagesThatCostNearlyTheSame) {
  for (const double ratio : {0.9, 1.1, 1.9, 2.1}) {
    const PageChoice choice = learned(1, ratio);
    EXPECT_EQ(choice.huge_is_cheaper(), ratio < PageChoice::kNearlyAlike) << ratio;
  }
}

TEST(PageChoice, OfOneKindStaysSo) {
  for (const bool huge : {false, true}) {
    PageChoice choice(huge);
    EXPECT_EQ(take(choice, 2 * PageChoice::kBetweenTrials, huge ? 1 : 9, huge ? 9 : 1),
              huge ? 2 * PageChoice::kBetweenTrials : 0);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
