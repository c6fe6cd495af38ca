#include "solver/memory/page_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr Bytes kHuge = PageChoice::kHugePage, kFirst = PageChoice::kFirst;

// Takes `bytes` where a small page costs `small` a byte and a huge one `huge`; returns
// the bytes that were taken as huge pages.
Bytes take(PageChoice& choice, Bytes bytes, double small, double huge,
           bool touched = false) {
  Bytes as_huge = 0;
  while (bytes > 0) {
    const PageChoice::Step step = choice.next(bytes, 0, touched);
    EXPECT_GT(step.bytes, 0);
    EXPECT_LE(step.bytes, bytes);
    EXPECT_LE(step.bytes, PageChoice::kLongest);
    if (step.priced)
      choice.paid(step, (step.huge ? huge : small) * static_cast<double>(step.bytes));
    if (step.aside) {
      EXPECT_FALSE(step.huge);
      continue;
    }
    if (step.huge) as_huge += step.bytes;
    bytes -= step.bytes;
  }
  return as_huge;
}

// A choice that knows both prices, which are those of more than clearing.
PageChoice learned(double small, double huge) {
  PageChoice choice;
  const Bytes first = small < PageChoice::kCheap ? kFirst : 0;
  EXPECT_EQ(take(choice, first + kHuge, small, huge), kHuge);
  return choice;
}

// What little there is at first is small, however it comes.
TEST(PageChoice, BeginsWithSmallPagesWhereTheyAreCheap) {
  const double small = 0.9 * PageChoice::kCheap;
  for (const Bytes bytes : {kHuge / 4, kHuge, kFirst}) {
    PageChoice choice;
    for (Bytes taken = 0; taken < kFirst; taken += bytes)
      EXPECT_EQ(take(choice, bytes, small, 0), 0);
    EXPECT_EQ(take(choice, kHuge, small, 0), kHuge);
  }
}

TEST(PageChoice, TriesAHugePageAtOnceWhereSmallOnesAreDear) {
  PageChoice choice;
  EXPECT_EQ(take(choice, kHuge, PageChoice::kCheap, 1), kHuge);
  EXPECT_EQ(take(choice, kHuge, PageChoice::kCheap, 1), 0);
}

// The lower of two prices counts, beside what is taken.
TEST(PageChoice, PricesSmallPagesTwice) {
  PageChoice choice;
  for (const double price : {1.0, 0.1 * PageChoice::kClearing}) {
    const PageChoice::Step step = choice.next(kHuge);
    EXPECT_TRUE(step.aside && step.priced && !step.huge);
    choice.paid(step, price * static_cast<double>(step.bytes));
  }
  EXPECT_EQ(take(choice, kFirst, 0, 0), 0);
}

TEST(PageChoice, TriesNoSmallPagesWhereHugeOnesCostWhatClearingDoes) {
  PageChoice choice = learned(0, 0.9 * PageChoice::kClearing);
  EXPECT_EQ(take(choice, 100 * kHuge, 0, 0.9 * PageChoice::kClearing), 100 * kHuge);
}

TEST(PageChoice, TakesSmallPagesWhereTheFirstHugeOneIsDearer) {
  PageChoice choice = learned(PageChoice::kClearing, 2 * PageChoice::kClearing);
  EXPECT_EQ(take(choice, 30 * kHuge, PageChoice::kClearing, 2 * PageChoice::kClearing),
            0);
}

TEST(PageChoice, TakesHugePagesWhereTheyAreCheaper) {
  PageChoice choice = learned(1, 0.1);
  EXPECT_EQ(take(choice, 30 * kHuge, 1, 0.1), 30 * kHuge);
}

// After 1, 2, 4, 8 and 16 times kBetweenTrials, and after kMostBetweenTrials each.
TEST(PageChoice, TriesTheDearerKindLessAndLessOften) {
  const Bytes early = 32 * PageChoice::kBetweenTrials;
  PageChoice choice = learned(1, 10);
  EXPECT_EQ(take(choice, early, 1, 10), 5 * kHuge);
  const Bytes late = take(choice, 10 * PageChoice::kMostBetweenTrials, 1, 10);
  EXPECT_GE(late, 9 * kHuge);
  EXPECT_LE(late, 10 * kHuge);
  PageChoice other = learned(1, 1.5);
  EXPECT_EQ(early - take(other, early, 1, 1.5), 5 * kHuge);
}

TEST(PageChoice, TriesNothingElseAsLongAsHugePagesCostWhatClearingDoes) {
  PageChoice choice = learned(0, 0.9 * PageChoice::kClearing);
  const Bytes all = 10 * PageChoice::kBetweenTrials;
  EXPECT_EQ(take(choice, all, 0, 0.9 * PageChoice::kClearing), all);
}

// Of huge pages that others will touch one is priced now and then.
TEST(PageChoice, PricesAHugePageNowAndThen) {
  PageChoice choice = learned(1, 0.1);
  Bytes since = 0;
  int priced = 0;
  for (int i = 0; i < 400; ++i) {
    const PageChoice::Step step = choice.next((1 + i % 6) * kHuge);
    EXPECT_LE(step.bytes, PageChoice::kLongest);
    since += step.bytes;
    if (!step.priced) continue;
    EXPECT_EQ(step.bytes, kHuge);
    EXPECT_LE(since, 2 * PageChoice::kLongest + kHuge);
    since = 0;
    ++priced;
    choice.paid(step, 0.1 * static_cast<double>(step.bytes));
  }
  EXPECT_GT(priced, 40);
  EXPECT_LT(priced, 200);
}

// A few huge pages that others have left are cheap, and all after them are not.
TEST(PageChoice, NoticesTheFirstDearPagesWhereEachIsTouched) {
  const double cheap = 0.3 * PageChoice::kClearing, dear = 7 * PageChoice::kClearing;
  const double small = PageChoice::kClearing;
  PageChoice choice = learned(small, cheap);
  EXPECT_EQ(take(choice, 20 * kHuge, small, cheap, true), 20 * kHuge);
  EXPECT_EQ(take(choice, 20 * kHuge, small, dear, true), PageChoice::kRemembered * kHuge);
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
  PageChoice choice = learned(1, 0.1 * PageChoice::kClearing);
  for (int i = 0; i < 100; ++i) {
    const PageChoice::Step step = choice.next(kHuge, 0, true);
    ASSERT_TRUE(step.huge);
    ASSERT_TRUE(step.priced);
    choice.paid(step, (i % 3 == 1 ? 20 : 0.1) * PageChoice::kClearing *
                          static_cast<double>(step.bytes));
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
