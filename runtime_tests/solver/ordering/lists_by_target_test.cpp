#include "solver/ordering/lists_by_target.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

#include "solver/ordering/range_maximum.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using Ints = std::vector<std::int32_t>;
using Starts = UnsetVector<std::int64_t>;
using Sending = std::vector<std::vector<std::pair<std::int32_t, std::int32_t>>>;

Lists lists_of(const Sending& sending, std::int32_t targets, std::int32_t workers) {
  Lists lists;
  on_pool(workers, std::int64_t{1} << 32, [&](TaskPool& pool) {
    lists = lists_by_target(static_cast<std::int32_t>(sending.size()), targets, pool,
                            [&](std::int32_t source, const auto& emit) {
                              for (const auto& [target, item] : sending[source])
                                emit(target, item);
                            });
  });
  return lists;
}

TEST(ListsByTarget, GivesTheExampleOfTheHeader) {
  const Lists lists = lists_of({{{1, 7}}, {{0, 5}, {1, 6}}}, 2, 1);
  EXPECT_EQ(lists.start, (Starts{0, 1, 3}));
  EXPECT_EQ(lists.item, (UnsetVector<std::int32_t>{5, 7, 6}));
  EXPECT_EQ(lists_of({}, 0, 1).start, Starts{0});
  EXPECT_EQ(lists_of({{}}, 3, 1).start, (Starts{0, 0, 0, 0}));
}

// The last range of targets has none.
TEST(ListsByTarget, EndsWithARangeWithoutTargets) {
  for (const std::int32_t workers : {1, 2}) {
    const Lists lists = lists_of({{{32'767, 7}}}, 32'768, workers);
    ASSERT_EQ(std::ssize(lists.start), 32'769);
    EXPECT_EQ(lists.start[32'767], 0);
    EXPECT_EQ(lists.start[32'768], 1);
    EXPECT_EQ(lists.item, UnsetVector<std::int32_t>{7});
  }
}

// Of one range and of several, the last of them not full.
TEST(ListsByTarget, KeepsTheOrderOfSendingForAnyNumberOfThreads) {
  std::mt19937 random(1);
  for (const std::int32_t targets : {100, 16'384, 40'000}) {
    Sending sending(30'000);
    std::vector<Ints> expected(targets);
    for (auto& of_source : sending)
      for (auto k = random() % 4; k > 0; --k) {
        const auto target = static_cast<std::int32_t>(random() % targets);
        of_source.emplace_back(target, static_cast<std::int32_t>(random() % 1000));
        expected[target].push_back(of_source.back().second);
      }
    for (const std::int32_t workers : {1, 2, 4}) {
      const Lists lists = lists_of(sending, targets, workers);
      ASSERT_EQ(std::ssize(lists.start), targets + 1);
      for (std::int32_t target = 0; target < targets; ++target)
        ASSERT_EQ(Ints(lists.item.begin() + lists.start[target],
                       lists.item.begin() + lists.start[target + 1]),
                  expected[target])
            << targets << ' ' << workers << ' ' << target;
    }
  }
}

TEST(NumberRanges, AreFewAndCoverAllNumbers) {
  for (const std::int32_t numbers : {0, 1, 16'383, 16'384, 1 << 22, 2'147'483'647}) {
    const NumberRanges ranges(numbers);
    ASSERT_LE(ranges.count(), 256);
    EXPECT_EQ(ranges.first(0), 0);
    EXPECT_EQ(ranges.first(ranges.count()), numbers);
    if (numbers == 0) continue;
    const std::int64_t last = ranges.of(numbers - 1);
    ASSERT_LT(last, ranges.count());
    EXPECT_LE(ranges.first(last), numbers - 1);
    EXPECT_GT(ranges.first(last + 1), numbers - 1);
  }
}

TEST(RangeMaximum, EqualsLookingAtAllOfThem) {
  std::mt19937 random(2);
  TaskPool alone(1);
  for (const std::int32_t size : {1, 15, 16, 17, 256, 300, 5000}) {
    Ints values(size);
    for (std::int32_t& value : values)
      value = static_cast<std::int32_t>(random() % 1000) - 500;
    const RangeMaximum maximum(values, alone);
    EXPECT_EQ(maximum.of(0, size), *std::ranges::max_element(values));
    for (int k = 0; k < 300; ++k) {
      const auto begin = static_cast<std::int32_t>(random() % size);
      const auto end = begin + 1 + static_cast<std::int32_t>(random() % (size - begin));
      ASSERT_EQ(maximum.of(begin, end),
                *std::max_element(values.begin() + begin, values.begin() + end))
          << size << ' ' << begin << ' ' << end;
    }
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
