#include "espalier/layout/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <random>

#include "espalier/model/replay_layout.h"
#include "espalier/model/validate_layout.h"
#include "support/error_message.h"
#include "support/random_buffers.h"

namespace espalier {
namespace TEST_SOURCE {

using support::above_its_load;
using support::describe;
using support::random_buffers;

// Validated, and with the capacity of its evaluation.
Layout checked(const BufferSet& buffers, const LayoutOptions& options = {}) {
  Layout answer = layout(buffers, options);
  const Violations violations = validate(buffers, answer, options.alignment);
  EXPECT_TRUE(violations.empty()) << violations.front() << "\n" << describe(buffers);
  if (options.alignment == 1) {
    const LayoutFigures figures = replay_layout(buffers, answer.offsets);
    EXPECT_EQ(figures.capacity_bytes, answer.capacity_bytes);
    EXPECT_EQ(figures.load_bytes, answer.load_bytes);
  }
  return answer;
}

TEST(Layout, ProvesAnOptimumAboveTheLoad) {
  const Layout answer = checked(above_its_load());
  EXPECT_EQ(answer.load_bytes, 9);
  EXPECT_EQ(answer.lower_bound_bytes, 10);
  EXPECT_EQ(answer.capacity_bytes, 10);
  EXPECT_TRUE(answer.proved());
}

TEST(Layout, LaysOutTheExampleOfTheHeader) {
  const Layout answer = checked(BufferSet({{0, 2, 1}, {2, 4, 1}, {1, 3, 2}}));
  EXPECT_EQ(answer.capacity_bytes, 3);
  EXPECT_TRUE(answer.proved());
}

// ESPALIER_LAYOUT_INSTANCES: how many.
TEST(Layout, MatchesBruteForceOnSmallInstances) {
  const char* const wanted = std::getenv("ESPALIER_LAYOUT_INSTANCES");
  const int instances = wanted != nullptr ? std::atoi(wanted) : 3000;
  ASSERT_GT(instances, 0) << "ESPALIER_LAYOUT_INSTANCES";
  std::mt19937 random(1);
  for (int instance = 0; instance < instances; ++instance) {
    const BufferSet buffers =
        random_buffers(random, random() % 8, 1 + random() % 8, 1 + random() % 9);
    const Layout answer = checked(buffers);
    EXPECT_EQ(answer.capacity_bytes, support::ExhaustiveLayout(buffers).least())
        << describe(buffers);
    EXPECT_TRUE(answer.proved()) << describe(buffers);
    if (HasFailure()) return;
  }
}

TEST(Layout, ReachesTheLoadOfNestedLifetimes) {
  std::vector<Buffer> buffers;
  for (std::int64_t k = 0; k < 2000; ++k) {
    buffers.push_back({k, 8000 - k, 1 + k * 37 % 101});
    buffers.push_back({3000 + k, 3001 + k, 1 + k * 53 % 97});
  }
  std::erase_if(
      buffers, [](const Buffer& b) { return b.upper == b.lower + 1 && b.lower >= 4000; });
  const Layout answer = checked(BufferSet(std::move(buffers)));
  EXPECT_EQ(answer.capacity_bytes, answer.load_bytes);
}

TEST(Layout, ReachesTheLoadOfEqualSizes) {
  std::mt19937 random(2);
  std::vector<Buffer> buffers;
  for (int k = 0; k < 3000; ++k) {
    const auto lower = static_cast<std::int64_t>(random() % 5000);
    const auto length = static_cast<std::int64_t>(random() % 700);
    buffers.push_back({lower, lower + 1 + length, 64});
  }
  const Layout answer = checked(BufferSet(std::move(buffers)), {.time = 0});
  EXPECT_EQ(answer.capacity_bytes, answer.load_bytes);
}

TEST(Layout, NeverNeedsMoreThanTheSumAndNeverLessThanTheLoad) {
  std::mt19937 random(3);
  for (int instance = 0; instance < 20; ++instance) {
    const BufferSet buffers = random_buffers(random, 200, 100, 1000);
    const Layout answer = checked(buffers, {.time = 60, .steps = 20'000});
    EXPECT_LE(answer.capacity_bytes, buffers.total_bytes());
    EXPECT_GE(answer.capacity_bytes, answer.load_bytes);
  }
}

TEST(Layout, IsTheSameAgainForTheSameSteps) {
  std::mt19937 random(4);
  const BufferSet buffers = random_buffers(random, 150, 60, 1000);
  const LayoutOptions options = {.time = 3600, .steps = 30'000, .seed = 7};
  EXPECT_EQ(layout(buffers, options).offsets, layout(buffers, options).offsets);
}

TEST(Layout, AlignsOffsetsAndCapacity) {
  std::mt19937 random(5);
  for (int instance = 0; instance < 50; ++instance) {
    const BufferSet buffers = random_buffers(random, 30, 20, 1000);
    const Layout answer = checked(buffers, {.alignment = 64, .time = 60, .steps = 5'000});
    EXPECT_EQ(answer.capacity_bytes % 64, 0);
  }
  EXPECT_THROW((void)layout(BufferSet(), {.alignment = 0}), InvalidInput);
}

TEST(Layout, StopsAtACapacityThatIsGoodEnough) {
  const Expected<Layout> loose = layout_within(above_its_load(), 1000);
  ASSERT_TRUE(loose);
  EXPECT_LE(loose->capacity_bytes, 1000);
}

TEST(Layout, TellsImpossibleFromNotFound) {
  const Expected<Layout> proved = layout_within(above_its_load(), 9);
  ASSERT_FALSE(proved);
  EXPECT_EQ(proved.error().reason, Infeasible::Reason::kImpossible);
  EXPECT_EQ(proved.error().lower_bound_bytes, 10);
  EXPECT_EQ(proved.error().least_bytes, 10);
  const Expected<Layout> open = layout_within(above_its_load(), 9, {.time = 0});
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().reason, Infeasible::Reason::kNoneFound);
}

TEST(Layout, StopsWhenTheCallerSaysSo) {
  std::mt19937 random(6);
  const BufferSet buffers = random_buffers(random, 400, 300, 100'000);
  int calls = 0;
  LayoutOptions options{.time = 3600};
  options.progress = [&](const LayoutProgress& now) {
    EXPECT_GE(now.capacity_bytes, now.lower_bound_bytes);
    return ++calls < 2;
  };
  const Layout answer = checked(buffers, options);
  EXPECT_TRUE(answer.stopped || answer.proved());
}

TEST(Layout, AnswersExtremes) {
  EXPECT_EQ(checked(BufferSet()).capacity_bytes, 0);
  EXPECT_EQ(checked(BufferSet({{-5, 7, 3}})).capacity_bytes, 3);
  EXPECT_EQ(checked(BufferSet({{0, 1, 0}, {0, 2, 0}})).capacity_bytes, 0);
  constexpr Bytes kHuge = Bytes{1} << 62;
  const Layout huge = checked(BufferSet({{0, 2, kHuge}, {1, 3, kHuge - 1}}));
  EXPECT_EQ(huge.capacity_bytes, 2 * (kHuge - 1) + 1);
  EXPECT_THROW(BufferSet({{0, 2, kHuge}, {1, 3, kHuge}}), OverflowError);
  EXPECT_THROW((void)layout(BufferSet({{0, 1, std::numeric_limits<Bytes>::max()}}),
                            {.alignment = 64}),
               OverflowError);
  EXPECT_EQ(support::error_message<OverflowError>([] {
              (void)layout(BufferSet({{0, 1, 1}, {0, 1, kHuge}}), {.alignment = kHuge});
            }),
            "buffer 1: the sum of all sizes, rounded up to 4611686018427387904, leaves "
            "the 64-bit range at 4611686018427387904");
  constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(checked(BufferSet({{kFirst, kLast, 2}, {kFirst, 0, 1}, {0, kLast, 1}}))
                .capacity_bytes,
            3);
}

TEST(BufferSet, RefusesEmptyLifetimesAndNegativeSizes) {
  EXPECT_THROW(BufferSet({{1, 1, 3}}), InvalidInput);
  EXPECT_THROW(BufferSet({{2, 1, 3}}), InvalidInput);
  EXPECT_THROW(BufferSet({{0, 1, -1}}), InvalidInput);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
