#include "espalier/report/memory_chart.h"

#include <gtest/gtest.h>

#include <numeric>

#include "report/column_range.h"
#include "report/plans.h"

namespace espalier::report {
namespace TEST_SOURCE {

void check(const Instance& instance, const Columns& columns, const Replay& replayed) {
  const Plan& plan = instance.plan;
  const Subtrees subtrees = main_subtrees(*plan.tree);
  MemoryChartBuilder builder(*plan.tree, subtrees, columns);
  sweep(*plan.tree, plan.schedule, {instance.max_workers, plan.priority, plan.mapping},
        builder);
  const MemoryChart chart = builder.take();
  ASSERT_EQ(chart.high.size(), columns.start.size());
  for (std::size_t c = 0; c < columns.start.size(); ++c) {
    const Range expected = range_of(replayed.profile, columns, c);
    ASSERT_EQ(chart.high[c], expected.high) << "column " << c << '\n' << instance.text();
    ASSERT_EQ(chart.low[c], expected.low) << "column " << c << '\n' << instance.text();
    Bytes parts = 0;
    for (const std::vector<Bytes>& part : chart.part) {
      ASSERT_GE(part[c], 0) << instance.text();
      parts += part[c];
    }
    ASSERT_EQ(parts, chart.high[c]) << instance.text();
  }
}

TEST(MemoryChart, HighAndLowAreThoseOfTheProfile) {
  std::mt19937 random(3);
  for (int number = 0; number < 1500; ++number) {
    const Instance instance = random_instance(random, number, 0);
    const Replay replayed = replay(instance.tree(), instance.plan.schedule);
    for (const std::size_t most : {1, 2, 3, 7, 1000}) {
      const Columns columns = columns_of(replayed.profile, most);
      ASSERT_LE(columns.start.size(), most);
      check(instance, columns, replayed);
      check(instance, columns_around(replayed.profile, replayed.peak_time, most),
            replayed);
    }
  }
}

TEST(MemoryChart, TheWholeRunHasThePeakOfThePlan) {
  std::mt19937 random(4);
  for (int number = 0; number < 500; ++number) {
    const Instance instance = random_instance(random, number, 0);
    const Plan& plan = instance.plan;
    const Replay replayed = replay(*plan.tree, plan.schedule);
    const Subtrees subtrees = main_subtrees(*plan.tree);
    for (const Columns& columns :
         {columns_of(replayed.profile, 5),
          columns_around(replayed.profile, replayed.peak_time, 5)}) {
      MemoryChartBuilder builder(*plan.tree, subtrees, columns);
      sweep(*plan.tree, plan.schedule,
            {instance.max_workers, plan.priority, plan.mapping}, builder);
      const MemoryChart chart = builder.take();
      ASSERT_EQ(*std::max_element(chart.high.begin(), chart.high.end()), plan.peak)
          << instance.text();
    }
  }
}

TEST(Holding, AddsUpToThePeak) {
  std::mt19937 random(5);
  for (int number = 0; number < 2000; ++number) {
    const Instance instance = random_instance(random, number, 0);
    const Plan& plan = instance.plan;
    const Replay replayed = replay(*plan.tree, plan.schedule);
    HoldingBuilder holding(*plan.tree, *replayed.peak_task);
    sweep(*plan.tree, plan.schedule, {instance.max_workers, plan.priority, {}}, holding);
    const std::vector<Bytes> held = holding.take();
    ASSERT_EQ(std::accumulate(held.begin(), held.end(), Bytes{0}), plan.peak)
        << instance.text();
    for (std::size_t i = 0; i < held.size(); ++i) {
      const bool ended =
          plan.schedule.end[i] <= replayed.peak_time && task_id(i) != *replayed.peak_task;
      if (plan.schedule.start[i] > replayed.peak_time) {
        ASSERT_EQ(held[i], 0) << i << '\n' << instance.text();
      } else if (ended && plan.schedule.start[i] < plan.schedule.end[i]) {
        ASSERT_LE(held[i], plan.tree->output_size(task_id(i)) +
                               plan.tree->retained_size(task_id(i)))
            << i << '\n'
            << instance.text();
      }
    }
  }
}

// b runs with 3 + 4 bytes; a comes later.
TEST(Holding, OfTheDrawnTreeIsAllOfB) {
  const Plan plan = drawn_plan(7);
  HoldingBuilder holding(*plan.tree, TaskId{2});
  sweep(*plan.tree, plan.schedule, {}, holding);
  EXPECT_EQ(holding.take(), (std::vector<Bytes>{0, 0, 7}));
}

}  // namespace TEST_SOURCE
}  // namespace espalier::report
