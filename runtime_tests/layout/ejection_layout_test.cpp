#include "espalier/layout/ejection_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "espalier/layout/layout.h"
#include "espalier/model/validate_layout.h"
#include "support/random_buffers.h"

namespace espalier {
namespace TEST_SOURCE {

using support::above_its_load;
using support::describe;
using support::none_empty;
using support::random_buffers;

constexpr std::int64_t kMoves = 20'000;

// Whether a layout of at most that capacity is found; if so it is checked.
bool finds(const BufferSet& buffers, Bytes capacity_bytes, std::uint64_t seed = 1) {
  const Pieces pieces = pieces_of(buffers.buffers(), 1);
  const LayoutOptions options;
  LayoutBudget budget(options);
  EjectionLayout ejection(pieces, seed);
  if (!ejection.search(capacity_bytes, kMoves, budget)) return false;
  Layout answer;
  answer.offsets.assign(ejection.offsets().begin(), ejection.offsets().end());
  answer.capacity_bytes = capacity(pieces, answer.offsets);
  answer.load_bytes = answer.lower_bound_bytes = load(pieces);
  EXPECT_LE(answer.capacity_bytes, capacity_bytes) << describe(buffers);
  const Violations violations = validate(buffers, answer);
  EXPECT_TRUE(violations.empty()) << violations.front() << "\n" << describe(buffers);
  return true;
}

TEST(EjectionLayout, FindsAnOptimumAboveTheLoad) {
  const BufferSet buffers = above_its_load();
  EXPECT_FALSE(finds(buffers, 8));  // below the load
  EXPECT_FALSE(finds(buffers, 9));
  EXPECT_TRUE(finds(buffers, 10));
}

TEST(EjectionLayout, FindsWhatBruteForceFinds) {
  std::mt19937 random(8);
  for (int instance = 0; instance < 500; ++instance) {
    const BufferSet buffers = none_empty(random_buffers(random, 1 + random() % 7, 8, 6));
    const Bytes least = support::ExhaustiveLayout(buffers).least();
    ASSERT_TRUE(finds(buffers, least)) << describe(buffers);
    if (instance < 50) {
      ASSERT_FALSE(finds(buffers, least - 1)) << describe(buffers);
    }
  }
}

// Ten columns, each cut in its own way into pieces that fill it: no byte is free.
TEST(EjectionLayout, FillsColumnsToTheLastByte) {
  std::mt19937 random(9);
  std::vector<Buffer> buffers;
  for (std::int64_t column = 0; column < 10; ++column) {
    for (Bytes left = 60; left > 0;) {
      const Bytes size = std::min<Bytes>(left, 5 + random() % 20);
      buffers.push_back({column, column + 1, size});
      left -= size;
    }
  }
  EXPECT_TRUE(finds(BufferSet(buffers), 60));
}

TEST(EjectionLayout, GoesOnWhereItStopped) {
  std::mt19937 random(10);
  const BufferSet buffers = none_empty(random_buffers(random, 40, 20, 50));
  const Pieces pieces = pieces_of(buffers.buffers(), 1);
  const Bytes least = load(pieces);
  const LayoutOptions options;
  LayoutBudget budget(options);
  EjectionLayout once(pieces, 3), often(pieces, 3);
  const bool found = once.search(least, 3000, budget);
  bool later = false;
  for (int k = 0; k < 3000 && !later; ++k) later = often.search(least, 1, budget);
  EXPECT_EQ(found, later);
  EXPECT_TRUE(std::ranges::equal(once.offsets(), often.offsets()));
}

TEST(EjectionLayout, AnswersExtremes) {
  const Bytes huge = Bytes{1} << 61;
  EXPECT_TRUE(finds(BufferSet(std::vector<Buffer>()), 0));
  EXPECT_TRUE(finds(BufferSet({{0, 1, huge}}), huge));
  EXPECT_TRUE(finds(BufferSet({{0, 2, huge}, {1, 3, huge}}), 2 * huge));
  EXPECT_FALSE(finds(BufferSet({{0, 2, huge}, {1, 3, huge}}), 2 * huge - 1));
  LayoutOptions over;
  over.steps = 0;
  LayoutBudget budget(over);
  const Pieces pieces =
      pieces_of(std::vector<Buffer>{{0, 2, 2}, {1, 3, 1}, {0, 1, 1}}, 1);
  EjectionLayout ejection(pieces, 1);
  const bool at_once = ejection.search(3, 0, budget);
  EXPECT_EQ(ejection.search(3, 100, budget), at_once);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
