#include "espalier/model/run_medians.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace espalier {
namespace TEST_SOURCE {

RunRecord run_of(const std::vector<RunRecord::Task>& tasks, Seconds seconds) {
  RunRecord run;
  run.tasks = tasks;
  run.seconds = seconds;
  return run;
}

RunRecord::Task task(std::int32_t node, std::int32_t column, Seconds seconds) {
  RunRecord::Task made;
  made.node = node;
  made.column = column;
  made.seconds = seconds;
  made.processor = seconds / 2;
  return made;
}

// By hand: the tasks of three runs, in different orders.
TEST(RunMedians, OfThreeRunsInAnyOrder) {
  RunMedians medians;
  medians.add(run_of({task(0, 0, 7), task(0, 1, 1)}, 9));
  medians.add(run_of({task(0, 1, 3), task(0, 0, 5)}, 8));
  RunRecord last = run_of({task(0, 0, 6), task(0, 1, 90)}, 97);
  last.tasks[1].start = 6;
  medians.add(last);
  medians.put_into(last);
  EXPECT_EQ(last.seconds, 9);
  EXPECT_EQ(last.tasks[0].seconds, 6);
  EXPECT_EQ(last.tasks[1].seconds, 3);
  EXPECT_EQ(last.tasks[1].processor, 1.5);
  EXPECT_EQ(last.tasks[1].start, 6) << "starts are the run's own";
}

TEST(RunMedians, OfOneRunAreItsTimes) {
  RunMedians medians;
  RunRecord only = run_of({task(3, -1, 0.1)}, 1.0 / 3);
  medians.add(only);
  medians.put_into(only);
  EXPECT_EQ(only.tasks[0].seconds, 0.1);
  EXPECT_EQ(only.seconds, 1.0 / 3);
}

// A task that only some runs had, as where pivots are delayed.
TEST(RunMedians, OfTheRunsThatHadTheTask) {
  RunMedians medians;
  medians.add(run_of({task(0, 0, 2), task(1, 4, 8)}, 10));
  medians.add(run_of({task(0, 0, 4)}, 4));
  RunRecord last = run_of({task(0, 0, 3), task(1, 4, 9)}, 12);
  medians.add(last);
  medians.put_into(last);
  EXPECT_EQ(last.tasks[0].seconds, 3);
  EXPECT_EQ(last.tasks[1].seconds, 8) << "the lower of two";
}

// Against sorting, of the latest runs of up to twice as many as are kept.
TEST(RunMedians, AreOfTheLatestRuns) {
  std::mt19937 random(3);
  for (std::size_t runs = 1; runs <= 2 * RunMedians::kMostRuns; ++runs) {
    RunMedians medians;
    std::vector<Seconds> seen;
    RunRecord last;
    for (std::size_t k = 0; k < runs; ++k) {
      seen.push_back(static_cast<Seconds>(random() % 1000));
      last = run_of({task(0, 0, seen.back())}, seen.back());
      medians.add(last);
    }
    medians.put_into(last);
    const std::size_t kept = std::min(runs, RunMedians::kMostRuns);
    std::vector<Seconds> sorted(seen.end() - static_cast<std::ptrdiff_t>(kept),
                                seen.end());
    std::ranges::sort(sorted);
    EXPECT_EQ(last.tasks[0].seconds, sorted[(kept - 1) / 2]) << runs;
    EXPECT_EQ(last.seconds, last.tasks[0].seconds) << runs;
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier
