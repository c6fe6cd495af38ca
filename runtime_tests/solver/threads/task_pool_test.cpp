#include "solver/threads/task_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

namespace espalier::solver {
namespace TEST_SOURCE {

class Pool : public testing::TestWithParam<std::int32_t> {};

TEST_P(Pool, RunsTasksThatAddTasksAndTheirLoops) {
  TaskPool pool(GetParam());
  std::atomic<std::int64_t> sum = 0;
  std::function<void(std::int32_t)> halve = [&](std::int32_t size) {
    std::vector<std::int64_t> seen(size, 0);
    pool.for_each_block(size, [&](std::int64_t k) { ++seen[k]; });
    EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), std::int64_t{0}), size);
    sum += size;
    for (int side = 0; side < 2 && size > 1; ++side)
      pool.add(size / 2, [&, size] { halve(size / 2); });
  };
  pool.add(256, [&] { halve(256); });
  pool.run();
  EXPECT_EQ(sum, 9 * 256);
  pool.run();  // nothing is left
  EXPECT_EQ(sum, 9 * 256);
}

TEST_P(Pool, ThrowsWhatATaskThrowsAndRunsOnAfterwards) {
  TaskPool pool(GetParam());
  pool.add(1, [] { throw std::runtime_error("one"); });
  EXPECT_THROW(pool.run(), std::runtime_error);
  const auto fails_at_seven = [](std::int64_t k) {
    if (k == 7) throw std::runtime_error("block");
  };
  pool.add(1, [&] { pool.for_each_block(20, fails_at_seven); });
  EXPECT_THROW(pool.run(), std::runtime_error);
  bool ran = false;
  pool.add(1, [&] { ran = true; });
  pool.run();
  EXPECT_TRUE(ran);
}

// One number for each of its threads, which a pool inside of a task does not change.
TEST_P(Pool, NumbersItsThreads) {
  EXPECT_EQ(TaskPool::rank(), 0);
  TaskPool pool(GetParam());
  std::vector<std::atomic<int>> inside(GetParam());
  std::atomic<bool> wrong = false;
  for (int k = 0; k < 200; ++k)
    pool.add(1, [&] {
      const int rank = TaskPool::rank();
      wrong = wrong || rank < 0 || rank >= GetParam() || inside[rank]++ != 0;
      TaskPool inner(2);
      inner.add(1, [] {});
      inner.run();
      wrong = wrong || TaskPool::rank() != rank;
      --inside[rank];
    });
  pool.run();
  EXPECT_FALSE(wrong);
  EXPECT_EQ(TaskPool::rank(), 0);
}

// Only where the pool is run, and what is not begun by then is dropped.
TEST_P(Pool, EndsWhereItsInterruptThrows) {
  const std::thread::id here = std::this_thread::get_id();
  int calls = 0;
  bool elsewhere = false;
  const Interrupt interrupt = [&] {
    elsewhere = elsewhere || std::this_thread::get_id() != here;
    if (++calls == 3) throw std::runtime_error("enough");
  };
  TaskPool pool(GetParam(), nullptr, &interrupt);
  std::atomic<int> ran = 0;
  std::function<void()> again = [&] {
    ++ran;
    pool.add(1, again);
  };
  pool.add(1, again);
  EXPECT_THROW(pool.run(), std::runtime_error);
  EXPECT_EQ(calls, 3);
  EXPECT_FALSE(elsewhere);
  EXPECT_GE(ran, 2);
}

// At any block of a loop, and whoever has the task; then all of it.
TEST_P(Pool, EndsInsideALoop) {
  constexpr int kBlocks = 40;
  int calls = 0, last = 0;
  const Interrupt interrupt = [&] {
    if (++calls == last) throw std::runtime_error("enough");
  };
  TaskPool pool(GetParam(), nullptr, &interrupt);
  for (last = 1; last <= kBlocks + 1; ++last) {
    calls = 0;
    std::atomic<int> visits = 0;
    const auto loop = [&] {
      pool.for_each_block(kBlocks, [&](std::int64_t) { ++visits; });
    };
    bool threw = false;
    try {
      pool.run_here(1, loop);
    } catch (const std::runtime_error&) {
      threw = true;
    }
    EXPECT_EQ(threw, calls == last) << last;
    EXPECT_LE(calls, kBlocks + 1);
    EXPECT_EQ(visits == kBlocks, !threw) << last;
  }
}

// A task of another thread goes on until it asks, and the caller while it waits.
TEST(PoolOfTwo, IsInterruptedWhileItWaitsForOthers) {
  const std::thread::id here = std::this_thread::get_id();
  int calls = 0;
  const Interrupt interrupt = [&] {
    EXPECT_EQ(std::this_thread::get_id(), here);
    if (++calls == 3) throw std::runtime_error("enough");
  };
  TaskPool pool(2, nullptr, &interrupt);
  std::atomic<int> began = 0;
  const auto meet = [&] {
    ++began;
    while (began < 2) std::this_thread::yield();
    while (std::this_thread::get_id() != here) pool.ask();
  };
  pool.add(1, meet);
  pool.add(1, meet);
  EXPECT_THROW(pool.run(), std::runtime_error);
  EXPECT_EQ(calls, 3);
}

TEST(RecordedTasks, KnowTheirParentsAndTheBlocksOfTheirLoops) {
  std::vector<RecordedTask> record;
  TaskPool pool(2, &record);
  pool.add(3, [&] {
    pool.for_each_block(5, [](std::int64_t) {});
    pool.add(2, [] {});
  });
  pool.run();
  ASSERT_EQ(record.size(), 2U);
  EXPECT_FALSE(record[0].parent);
  ASSERT_EQ(record[0].loops.size(), 1U);
  EXPECT_EQ(record[0].loops[0].size(), 5U);
  EXPECT_EQ(record[1].parent, 0);
  EXPECT_TRUE(record[1].loops.empty());
}

// Threads look out for tasks, and sleep after a while: both are told of new ones.
TEST_P(Pool, RunsWhatIsAddedAfterAnyTime) {
  using std::chrono::microseconds;
  for (const microseconds pause :
       {microseconds(0), microseconds(100), microseconds(2000)})
    for (int k = 0; k < 20; ++k) {
      std::vector<int> visits(60, 0);
      TaskPool pool(GetParam());
      std::function<void(int)> wave = [&](int begin) {
        std::this_thread::sleep_for(pause);
        for (int task = begin; task < begin + 20; ++task)
          pool.add(0, [&, task] { ++visits[task]; });
        if (begin + 20 < 60) pool.add(1, [&, begin] { wave(begin + 20); });
      };
      pool.add(1, [&] { wave(0); });
      pool.run();
      ASSERT_EQ(visits, std::vector<int>(60, 1));
    }
}

// The caller's thread has the task, others its blocks.
TEST_P(Pool, RunsATaskHereAndSharesItsLoops) {
  for (int k = 0; k < 20; ++k) {
    std::vector<int> visits(100, 0);
    std::thread::id here;
    TaskPool pool(GetParam());
    pool.run_here(1, [&] {
      here = std::this_thread::get_id();
      for (int loop = 0; loop < 3; ++loop)
        pool.for_each_block(100, [&](std::int64_t block) { ++visits[block]; });
    });
    ASSERT_EQ(here, std::this_thread::get_id());
    ASSERT_EQ(visits, std::vector<int>(100, 3));
    EXPECT_THROW(pool.run_here(1, [] { throw std::runtime_error("no"); }),
                 std::runtime_error);
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, Pool, testing::Values(1, 2, 4));

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
