#include "solver/ordering/replay_tasks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace espalier::solver {
namespace TEST_SOURCE {

Seconds total(const std::vector<RecordedTask>& tasks) {
  Seconds sum = 0;
  for (const RecordedTask& task : tasks) {
    sum += task.alone;
    for (const auto& loop : task.loops)
      sum = std::accumulate(loop.begin(), loop.end(), sum);
  }
  return sum;
}

// No number of workers does it in less: along parents, of each loop its longest block.
Seconds longest_chain(const std::vector<RecordedTask>& tasks) {
  std::vector<Seconds> end(tasks.size());
  for (std::size_t k = 0; k < tasks.size(); ++k) {
    end[k] = tasks[k].alone + (tasks[k].parent ? end[*tasks[k].parent] : 0);
    for (const auto& loop : tasks[k].loops)
      end[k] += loop.empty() ? 0 : *std::ranges::max_element(loop);
  }
  return tasks.empty() ? 0 : *std::ranges::max_element(end);
}

TEST(ReplayTasks, ByHand) {
  EXPECT_EQ(replay_tasks({}, 4), 0);
  // 2 s, then two of 3 s and one of 1 s: the larger ones first.
  const std::vector<RecordedTask> fork = {{.size = 9, .alone = 2},
                                          {.parent = 0, .size = 1, .alone = 1},
                                          {.parent = 0, .size = 3, .alone = 3},
                                          {.parent = 0, .size = 3, .alone = 3}};
  EXPECT_DOUBLE_EQ(replay_tasks(fork, 1), 9);
  EXPECT_DOUBLE_EQ(replay_tasks(fork, 2), 6);
  EXPECT_DOUBLE_EQ(replay_tasks(fork, 3), 5);
}

TEST(ReplayTasks, BlocksOfALoopAreSharedAndItsOwnerWaits) {
  // Alone for 1 s before, between and after two loops of four blocks of 1 s.
  const std::vector<RecordedTask> loops = {
      {.size = 1, .alone = 3, .loops = {{1, 1, 1, 1}, {1, 1, 1, 1}}}};
  EXPECT_DOUBLE_EQ(replay_tasks(loops, 1), 11);
  EXPECT_DOUBLE_EQ(replay_tasks(loops, 2), 7);
  EXPECT_DOUBLE_EQ(replay_tasks(loops, 3), 7);
  EXPECT_DOUBLE_EQ(replay_tasks(loops, 4), 5);
  EXPECT_DOUBLE_EQ(replay_tasks(loops, 64), 5);
}

TEST(ReplayTasks, AWorkerThatEndsATaskTakesAHandInALoopBeforeATask) {
  const std::vector<RecordedTask> tasks = {{.size = 5, .loops = {{2, 2, 2, 2}}},
                                           {.size = 4, .alone = 1},
                                           {.size = 3, .alone = 2}};
  // One worker: blocks at 0 and 2. The other one: a task until 1, blocks at 1 and 3, and
  // then the last task, 5 … 7.
  EXPECT_DOUBLE_EQ(replay_tasks(tasks, 2), 7);
}

TEST(ReplayTasks, OneWorkerTakesTheSumAndNoneBeatsTheLongestChain) {
  std::mt19937 random(11);
  for (int instance = 0; instance < 300; ++instance) {
    std::vector<RecordedTask> tasks(1 + random() % 30);
    for (std::size_t k = 0; k < tasks.size(); ++k) {
      if (k > 0 && random() % 5 > 0) tasks[k].parent = random() % k;
      tasks[k].size = static_cast<std::int64_t>(random() % 10);
      tasks[k].alone = static_cast<double>(random() % 20);
      tasks[k].loops.resize(random() % 3);
      for (auto& loop : tasks[k].loops) {
        loop.resize(random() % 6);
        for (Seconds& block : loop) block = static_cast<double>(random() % 5);
      }
    }
    ASSERT_NEAR(replay_tasks(tasks, 1), total(tasks), 1e-9);
    for (const std::int32_t workers : {2, 3, 8, 100}) {
      const Seconds taken = replay_tasks(tasks, workers);
      ASSERT_GE(taken, std::max(longest_chain(tasks), total(tasks) / workers) - 1e-9);
      ASSERT_LE(taken, total(tasks) + 1e-9);
    }
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
