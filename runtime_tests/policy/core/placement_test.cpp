#include "policy/core/placement.h"

#include <gtest/gtest.h>

#include <array>
#include <climits>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <thread>

namespace espalier::policy {
namespace TEST_SOURCE {

WorkerSet workers(std::initializer_list<std::size_t> ids) {
  WorkerSet set;
  for (const std::size_t id : ids) set.set(id);
  return set;
}

std::array<int, 1 << 16> things;
void* thing(std::size_t i) { return &things[i]; }
std::size_t number(void* task) {
  return static_cast<std::size_t>(static_cast<int*>(task) - things.data());
}

TEST(Rank, GoesByPathThenByPriority) {
  const double values[] = {0, 1e-300, 1, 1.5, 1e12, 1e30, 1e300};
  for (std::size_t i = 0; i + 1 < std::size(values); ++i)
    EXPECT_LE(path_rank(values[i]), path_rank(values[i + 1]));
  EXPECT_LT(path_rank(1), path_rank(1.5));
  EXPECT_LT(path_rank(std::numeric_limits<double>::infinity()), kUnboundRank);
  EXPECT_LT(make_rank(path_rank(1), INT_MAX), make_rank(path_rank(2), INT_MIN));
  EXPECT_LT(make_rank(path_rank(1), -1), make_rank(path_rank(1), 0));
  EXPECT_LT(make_rank(path_rank(1), INT_MIN), make_rank(path_rank(1), INT_MAX));
  EXPECT_GT(make_rank(path_rank(0), INT_MIN), 0U) << "0 is the empty queue";
}

TEST(Placement, TakesTheHighestRankAndAmongEqualsTheOldest) {
  Placement placement(1);
  auto& queue = placement.queue(workers({0}), workers({0}));
  placement.push(queue, make_rank(1, 0), thing(0));
  placement.push(queue, make_rank(1, 5), thing(1));
  placement.push(queue, make_rank(2, -5), thing(2));
  placement.push(queue, make_rank(1, 5), thing(3));
  for (const std::size_t expected : {2U, 1U, 3U, 0U})
    EXPECT_EQ(placement.pop(0).task, thing(expected));
  EXPECT_EQ(placement.pop(0).task, nullptr);
}

TEST(Placement, GivesTheOrderOfASortedListWhateverTheRanks) {
  for (const std::uint32_t ranks : {1U, 2U, 3U, 40U, 100'000U}) {
    Placement placement(1);
    auto& queue = placement.queue(workers({0}), workers({0}));
    std::multimap<Rank, void*, std::greater<>> expected;  // keeps the order of equals
    std::mt19937 random(ranks);
    for (std::size_t next = 0, drain = 0; next < things.size();) {
      const bool pushes = drain == 0 && random() % 2 == 0;
      if (pushes) {
        const Rank rank = make_rank(7, static_cast<int>(random() % ranks));
        placement.push(queue, rank, thing(next));
        expected.emplace(rank, thing(next++));
        if (random() % 5000 == 0) drain = expected.size() + 1;
      } else {
        const auto first = expected.begin();
        ASSERT_EQ(placement.pop(0).task,
                  first == expected.end() ? nullptr : first->second)
            << ranks << " ranks, task " << next;
        if (first != expected.end()) expected.erase(first);
        if (drain > 0) --drain;
      }
    }
  }
}

TEST(Placement, KeepsEveryTaskOfALongQueue) {
  Placement placement(1);
  auto& queue = placement.queue(workers({0}), workers({0}));
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < things.size(); ++i)
      placement.push(queue, make_rank(1, static_cast<int>(i / 2)), thing(i));
    for (std::size_t i = 0; i < things.size(); ++i)
      ASSERT_EQ(placement.pop(0).task, thing((things.size() - 2 - (i & ~1UL)) + i % 2));
    EXPECT_EQ(placement.pop(0).task, nullptr);
  }
}

TEST(Placement, ServesItsOwnQueuesFirstAndThenSteals) {
  Placement placement(2);
  auto& own = placement.queue(workers({0}), workers({0, 1}));
  auto& both = placement.queue(workers({0, 1}), workers({0, 1}));
  auto& other = placement.queue(workers({1}), workers({0, 1}));
  placement.push(own, make_rank(1, 0), thing(0));
  placement.push(both, make_rank(2, 0), thing(1));
  placement.push(other, make_rank(3, 0), thing(2));
  const auto first = placement.pop(0);
  EXPECT_EQ(first.task, thing(1)) << "the higher rank of the two queues for worker 0";
  EXPECT_FALSE(first.stolen);
  EXPECT_EQ(placement.pop(0).task, thing(0));
  const auto stolen = placement.pop(0);
  EXPECT_EQ(stolen.task, thing(2)) << "no worker idles while a task waits";
  EXPECT_TRUE(stolen.stolen);
}

TEST(Placement, GivesATaskOnlyToWorkersThatAreAble) {
  Placement placement(3);
  auto& queue = placement.queue(workers({0, 1, 2}), workers({1}));
  placement.push(queue, 1, thing(0));
  EXPECT_EQ(placement.pop(0).task, nullptr);
  EXPECT_EQ(placement.pop(2).task, nullptr);
  EXPECT_EQ(placement.pop(1).task, thing(0));
}

TEST(Placement, MakesOneQueuePerPairOfSetsAndShowsNewOnes) {
  Placement placement(1);
  auto& queue = placement.queue(workers({0}), workers({0}));
  placement.push(queue, 1, thing(0));
  EXPECT_EQ(placement.pop(0).task, thing(0));
  EXPECT_EQ(&placement.queue(workers({0}), workers({0})), &queue);
  auto& later = placement.queue(workers({1}), workers({0}));
  EXPECT_NE(&later, &queue);
  placement.push(later, 1, thing(1));
  EXPECT_EQ(placement.pop(0).task, thing(1));
}

TEST(Placement, GivesEachTaskOnceWithManyThreads) {
  constexpr std::size_t kThreads = 4, kEach = 8000, kTotal = kThreads * kEach;
  Placement placement(kThreads);
  std::vector<std::atomic<int>> seen(kTotal);
  std::atomic<std::size_t> taken = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      const auto take = [&] {
        if (void* const task = placement.pop(t).task) {
          ++seen[number(task)];
          ++taken;
        }
      };
      for (std::size_t i = 0; i < kEach; ++i) {
        const std::size_t preferred = random() % kThreads;
        auto& queue = placement.queue(workers({preferred}), workers({0, 1, 2, 3}));
        placement.push(queue, make_rank(random() % 8, 0), thing(t * kEach + i));
        if (random() % 2 == 0) take();
      }
      while (taken < kTotal) take();
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& count : seen) EXPECT_EQ(count, 1);
  EXPECT_EQ(placement.pop(0).task, nullptr);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
