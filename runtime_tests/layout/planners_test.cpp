// The parts of the layout planner, each by itself.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "espalier/layout/components.h"
#include "espalier/layout/core_layout.h"
#include "espalier/layout/exact_layout.h"
#include "espalier/layout/fit_layout.h"
#include "espalier/layout/join_pieces.h"
#include "espalier/layout/layout_budget.h"
#include "espalier/layout/sweep_layout.h"
#include "espalier/model/validate_layout.h"
#include "support/random_buffers.h"

namespace espalier {
namespace TEST_SOURCE {

using support::describe;
using support::random_buffers;

Layout answer_of(const Pieces& pieces, std::vector<Bytes> offsets) {
  Layout answer;
  answer.capacity_bytes = capacity(pieces, offsets);
  answer.load_bytes = answer.lower_bound_bytes = load(pieces);
  answer.offsets = std::move(offsets);
  return answer;
}

void expect_valid(const BufferSet& buffers, std::vector<Bytes> offsets) {
  const Pieces pieces = pieces_of(buffers.buffers(), 1);
  const Violations violations = validate(buffers, answer_of(pieces, std::move(offsets)));
  EXPECT_TRUE(violations.empty()) << violations.front() << "\n" << describe(buffers);
}

TEST(Pieces, HaveASectionForEachLargestSetThatMeets) {
  //  [0,3) [1,2) [2,5) [5,6): {0,1}, {0,2}, {3}
  const Pieces pieces =
      pieces_of(std::vector<Buffer>{{0, 3, 1}, {1, 2, 1}, {2, 5, 1}, {5, 6, 9}}, 8);
  EXPECT_EQ(pieces.sections, 3);
  EXPECT_EQ(pieces.list[0], (Piece{0, 1, 8, 3}));
  EXPECT_EQ(pieces.list[1], (Piece{0, 0, 8, 1}));
  EXPECT_EQ(pieces.list[2], (Piece{1, 1, 8, 3}));
  EXPECT_EQ(pieces.list[3], (Piece{2, 2, 16, 1}));
  EXPECT_EQ(loads(pieces), (std::vector<Bytes>{16, 16, 16}));
}

TEST(Pieces, MeetWhereTheirBuffersDo) {
  std::mt19937 random(1);
  for (int instance = 0; instance < 300; ++instance) {
    const BufferSet buffers = random_buffers(random, 12, 15, 5);
    const Pieces pieces = pieces_of(buffers.buffers(), 1);
    for (std::size_t a = 0; a < buffers.size(); ++a) {
      for (std::size_t b = 0; b < buffers.size(); ++b)
        ASSERT_EQ(meet(pieces.list[a], pieces.list[b]),
                  meet(buffers[buffer_id(a)], buffers[buffer_id(b)]))
            << describe(buffers);
    }
  }
}

TEST(SweepLayout, IsExactOnNestedLifetimes) {
  const BufferSet buffers({{0, 9, 2}, {1, 5, 3}, {2, 4, 1}, {5, 9, 4}, {6, 7, 1}});
  const Pieces pieces = pieces_of(buffers.buffers(), 1);
  const std::vector<Bytes> offsets = sweep_layout(pieces);
  expect_valid(buffers, offsets);
  EXPECT_EQ(capacity(pieces, offsets), load(pieces));
}

TEST(LayoutPlanners, GiveValidLayouts) {
  std::mt19937 random(2);
  for (int instance = 0; instance < 200; ++instance) {
    const BufferSet buffers = random_buffers(random, 60, 40, 50);
    const Pieces pieces = pieces_of(buffers.buffers(), 1);
    expect_valid(buffers, sweep_layout(pieces));
    const LayoutOptions options;
    LayoutBudget budget(options);
    for (const Fit fit : {Fit::kFirst, Fit::kBest}) {
      std::vector<Bytes> offsets;
      const auto order = order_by_extent(pieces, 0.4, 0.2, 5);
      const auto reached = fit_layout(pieces, order, fit, offsets, budget);
      ASSERT_TRUE(reached);
      EXPECT_EQ(*reached, capacity(pieces, offsets));
      expect_valid(buffers, offsets);
    }
    for (const JoinedPieces& joined :
         {JoinedPieces::stacked(pieces), JoinedPieces::stacked_and_in_rows(pieces)}) {
      EXPECT_EQ(load(joined.pieces()), load(pieces));
      expect_valid(buffers, joined.expand(sweep_layout(joined.pieces())));
    }
    if (HasFailure()) return;
  }
}

// A rectangle cut at random: a line up or across a part, again and again; parts below
// `thin` are not cut.
std::vector<Buffer> cut_rectangle(std::mt19937& random, std::size_t pieces,
                                  std::int64_t length, Bytes size, std::int64_t thin) {
  struct Part {
    Buffer box;
    std::size_t pieces;
  };
  std::vector<Buffer> boxes;
  std::vector<Part> open = {{{0, length, size}, pieces}};
  while (!open.empty()) {
    const Part part = open.back();
    open.pop_back();
    if (part.pieces == 1) {
      boxes.push_back(part.box);
      continue;
    }
    Part low = part, high = part;
    low.pieces = 1 + random() % (part.pieces - 1);
    high.pieces = part.pieces - low.pieces;
    const Buffer& box = part.box;
    if (random() % 2 == 0 && box.upper - box.lower > thin) {
      low.box.upper = high.box.lower =
          box.lower + 1 + random() % (box.upper - box.lower - 1);
    } else {
      low.box.size = 1 + random() % (box.size - 1);
      high.box.size = box.size - low.box.size;
    }
    if (low.box.size < thin || high.box.size < thin) {
      boxes.push_back(box);
      continue;
    }
    open.push_back(low);
    open.push_back(high);
  }
  return boxes;
}

TEST(JoinedPieces, BecomeOneAgainWhereARectangleWasCut) {
  std::mt19937 random(3);
  for (int instance = 0; instance < 20; ++instance) {
    const BufferSet buffers(
        cut_rectangle(random, 300, 1'000'000'000, 1'000'000'000, 1000));
    const Pieces pieces = pieces_of(buffers.buffers(), 1);
    const JoinedPieces joined = JoinedPieces::stacked_and_in_rows(pieces);
    ASSERT_EQ(joined.pieces().size(), 1U) << describe(buffers);
    expect_valid(buffers, joined.expand(std::vector<Bytes>{0}));
    EXPECT_EQ(joined.pieces().list[0].size, load(pieces));
  }
}

// Where times and sizes are few, many that do not belong together are equal by chance.
TEST(JoinedPieces, PutsALargeCutRectangleTogether) {
  std::mt19937 random(7);
  const BufferSet buffers(cut_rectangle(random, 30'000, 1'000'000, 1 << 27, 20));
  const Pieces pieces = pieces_of(buffers.buffers(), 1);
  ASSERT_GT(pieces.size(), 10'000U);
  const JoinedPieces joined = JoinedPieces::stacked_and_in_rows(pieces);
  EXPECT_LE(joined.pieces().size(), pieces.size() / 150);
  EXPECT_EQ(load(joined.pieces()), load(pieces));
  expect_valid(buffers, joined.expand(sweep_layout(joined.pieces())));
}

TEST(JoinedPieces, StayAsTheyAreWhenTheTimeIsOver) {
  std::mt19937 random(7);
  const BufferSet buffers(cut_rectangle(random, 30'000, 1'000'000, 1 << 27, 20));
  const Pieces pieces = pieces_of(buffers.buffers(), 1);
  const LayoutOptions no_time{.time = 0};
  LayoutBudget budget(no_time);
  const JoinedPieces joined = JoinedPieces::stacked_and_in_rows(pieces, &budget);
  EXPECT_TRUE(budget.was_spent());
  EXPECT_GT(joined.pieces().size(),
            JoinedPieces::stacked_and_in_rows(pieces).pieces().size());
  expect_valid(buffers, joined.expand(sweep_layout(joined.pieces())));
}

TEST(Decompose, PeelsAndCutsAgainAndAgain) {
  // One throughout; then a cut at 4; left of it one throughout its part, and a cut.
  const BufferSet buffers(
      {{0, 8, 5}, {0, 4, 3}, {0, 2, 1}, {2, 4, 2}, {4, 7, 1}, {5, 8, 1}});
  const Decomposition parts = decompose(pieces_of(buffers.buffers(), 1));
  EXPECT_EQ(parts.components.size(), 0U);
  EXPECT_EQ(parts.offsets[0], 0);
  EXPECT_EQ(parts.offsets[1], 5);
  EXPECT_EQ(parts.offsets[2], 8);
  EXPECT_EQ(parts.offsets[3], 8);
  expect_valid(buffers, parts.offsets);
}

TEST(ExactLayout, DecidesWhatBruteForceDecides) {
  std::mt19937 random(4);
  for (int instance = 0; instance < 1000; ++instance) {
    const BufferSet buffers =
        support::none_empty(random_buffers(random, 1 + random() % 7, 8, 6));
    const Bytes least = support::ExhaustiveLayout(buffers).least();
    const Pieces pieces = pieces_of(buffers.buffers(), 1);
    const LayoutOptions options;
    LayoutBudget budget(options);
    ExactLayout exact(pieces, 1);
    ASSERT_EQ(exact.search(least - 1, 100'000, budget), ExactLayout::Answer::kNone)
        << describe(buffers);
    ASSERT_EQ(exact.search(least, 100'000, budget), ExactLayout::Answer::kFound)
        << describe(buffers);
    expect_valid(buffers, {exact.offsets().begin(), exact.offsets().end()});
  }
}

TEST(CoreLayout, KeepsTheFullestSections) {
  // Loads 4, 5, 1: the core at 0.8 is the first two.
  const Pieces pieces =
      pieces_of(std::vector<Buffer>{{0, 2, 2}, {0, 1, 2}, {1, 2, 3}, {2, 3, 1}}, 1);
  const Core core = core_of(pieces, 0.8);
  EXPECT_EQ(core.numbers, (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(core.pieces.sections, 2);
  const LayoutOptions options;
  LayoutBudget budget(options);
  EXPECT_EQ(capacity(core.pieces, core_layout(pieces, core, 5, 100, 1, budget)), 5);
  EXPECT_TRUE(core_layout(pieces, core, 4, 100, 1, budget).empty());
}

// 4 and 4 meet in the middle alone, where 8 is no core of 10; beside 6 each may lie as if
// the other were not there.
TEST(CoreLayout, PiecesThatMeetOutsideTheCoreShareNoBytes) {
  const Pieces pieces{{{0, 2, 4}, {2, 4, 4}, {0, 1, 6}, {3, 4, 6}}, 5};
  const Core core = core_of(pieces, 0.9);
  ASSERT_EQ(core.numbers.size(), 4U);
  ASSERT_EQ(core.pieces.sections, 4);
  LayoutOptions options;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    LayoutBudget budget(options);
    const std::vector<Bytes> offsets = core_layout(pieces, core, 10, 100, seed, budget);
    if (offsets.empty()) continue;
    EXPECT_GE(std::abs(offsets[0] - offsets[1]), 4) << "seed " << seed;
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier
