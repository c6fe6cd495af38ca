#include "solver/memory/page_choice.h"

#include <gtest/gtest.h>

#include <random>

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr Bytes kTrial = PageChoice::kTrial;

// Takes `bytes` where a small page costs `small` a byte and a huge one `huge`; returns
// the bytes that were taken as huge pages.
Bytes take(PageChoice& choice, Bytes bytes, double small, double huge) {
  Bytes as_huge = 0;
  while (bytes > 0) {
    const PageChoice::Step step = choice.next(bytes);
    EXPECT_GT(step.bytes, 0);
    EXPECT_LE(step.bytes, bytes);
    EXPECT_LE(step.bytes, PageChoice::kLongest);
    choice.paid(step, (step.huge ? huge : small) * static_cast<double>(step.bytes));
    if (step.huge) as_huge += step.bytes;
    bytes -= step.bytes;
  }
  return as_huge;
}

TEST(PageChoice, TakesSmallPagesForTheFirstBytes) {
  PageChoice choice;
  EXPECT_EQ(take(choice, PageChoice::kBeforeTrials, 1, 0.1), 0);
}

TEST(PageChoice, TakesHugePagesWhereTheyAreCheaper) {
  PageChoice choice;
  take(choice, PageChoice::kBeforeTrials, 1, 0.1);
  EXPECT_EQ(take(choice, 100 * kTrial, 1, 0.1), 100 * kTrial);
}

TEST(PageChoice, TriesTheDearerKindNowAndThen) {
  PageChoice choice;
  take(choice, PageChoice::kBeforeTrials, 1, 10);
  // A trial at the start and after every kBetweenTrials.
  EXPECT_EQ(take(choice, 3 * PageChoice::kBetweenTrials, 1, 10), 3 * kTrial);
}

TEST(PageChoice, FollowsPricesThatChange) {
  PageChoice choice;
  take(choice, PageChoice::kBeforeTrials + kTrial, 1, 0.1);
  // Dearer from now on: one step too many, then small pages.
  EXPECT_EQ(take(choice, PageChoice::kBetweenTrials / 2, 1, 10), PageChoice::kLongest);
  // Cheap again: found by the next trial.
  take(choice, PageChoice::kBetweenTrials, 1, 0.1);
  EXPECT_EQ(take(choice, 10 * kTrial, 1, 0.1), 10 * kTrial);
}

TEST(PageChoice, HasNoHugePagesInWhatCannotHoldOne) {
  PageChoice choice;
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    const Bytes bytes = 1 + random() % (kTrial - 1);
    const PageChoice::Step step = choice.next(bytes);
    EXPECT_EQ(step.bytes, bytes);
    EXPECT_FALSE(step.huge);
    choice.paid(step, 1);
  }
}

TEST(PageChoice, MovesPagesWhereThatIsCheaperThanHugeOnes) {
  PageChoice choice;
  EXPECT_TRUE(choice.moves(kTrial));  // no price is known
  choice.paid_for_moves(PageChoice::kLeastMoved, 2.0 * PageChoice::kLeastMoved);
  EXPECT_TRUE(choice.moves(kTrial));
  take(choice, PageChoice::kBeforeTrials + kTrial, 5, 3);
  EXPECT_TRUE(choice.moves(kTrial));
  choice.paid_for_moves(PageChoice::kLeastMoved, 4.0 * PageChoice::kLeastMoved);
  EXPECT_FALSE(choice.moves(kTrial));
  EXPECT_TRUE(choice.moves(kTrial - 1));                  // in small pages it would be
  choice.paid_for_moves(PageChoice::kLeastMoved - 1, 0);  // the call weighs too much
  EXPECT_FALSE(choice.moves(kTrial));
  choice.paid_for_moves(PageChoice::kLeastMoved, 1.0 * PageChoice::kLeastMoved);
  EXPECT_TRUE(choice.moves(kTrial));
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
