#include "espalier/report/lanes.h"

#include <gtest/gtest.h>

#include "espalier/report/occupancy.h"
#include "report/plans.h"

namespace espalier::report {
namespace TEST_SOURCE {

// Keeps the time worked of each worker inside a window, and hands everything on.
class Counting : public RunObserver {
 public:
  Counting(std::int32_t workers, Window window, RunObserver& next)
      : worked_time(static_cast<std::size_t>(workers), 0),
        pieces(static_cast<std::size_t>(workers), 0),
        long_pieces(static_cast<std::size_t>(workers), 0),
        window_(window),
        next_(next) {}
  void worked(TaskId task, std::int32_t worker, Seconds from, Seconds to) override {
    next_.worked(task, worker, from, to);
    const Seconds inside = std::min(to, window_.to) - std::max(from, window_.from);
    if (inside <= 0) return;
    if (inside > 1e-9) ++long_pieces[static_cast<std::size_t>(worker)];
    worked_time[static_cast<std::size_t>(worker)] += inside;
    ++pieces[static_cast<std::size_t>(worker)];
  }
  void passed(Seconds from, Seconds to, std::int32_t busy, std::int64_t wanted) override {
    next_.passed(from, to, busy, wanted);
  }
  std::vector<Seconds> worked_time;
  std::vector<std::int64_t> pieces, long_pieces;  // rounding may hide one of no length

 private:
  Window window_;
  RunObserver& next_;
};

void sweep(const Instance& instance, RunObserver& observer) {
  const Plan& plan = instance.plan;
  sweep(*plan.tree, plan.schedule, {instance.max_workers, plan.priority, plan.mapping},
        observer);
}

void check(const Instance& instance, Window window, const LaneOptions& options) {
  const Subtrees subtrees = main_subtrees(instance.tree());
  LaneBuilder builder(instance.plan.workers, window, subtrees, options);
  Counting counting(instance.plan.workers, window, builder);
  sweep(instance, counting);
  std::int32_t workers = 0;
  for (const Lane& lane : builder.take()) {
    ASSERT_EQ(lane.first_worker, workers);
    Seconds worked = 0, last = window.from;
    std::int64_t tasks = 0;
    for (const GanttBar& block : lane.blocks) {
      ASSERT_GE(block.from, last - 1e-9) << instance.text();
      ASSERT_LE(block.to, window.to + 1e-9) << instance.text();
      ASSERT_LE(block.busy, 1);
      last = block.to;
      worked += (block.to - block.from) * block.busy * lane.workers;
      tasks += block.tasks;
    }
    Seconds expected = 0;
    std::int64_t pieces = 0, long_pieces = 0;
    for (std::int32_t w = 0; w < lane.workers; ++w) {
      expected += counting.worked_time[static_cast<std::size_t>(workers + w)];
      pieces += counting.pieces[static_cast<std::size_t>(workers + w)];
      long_pieces += counting.long_pieces[static_cast<std::size_t>(workers + w)];
    }
    workers += lane.workers;
    ASSERT_NEAR(worked, expected, 1e-6) << instance.text();
    ASSERT_LE(tasks, pieces) << instance.text();
    ASSERT_GE(tasks, long_pieces) << instance.text();
  }
  ASSERT_EQ(workers, instance.plan.workers);
}

TEST(Lanes, BarsKeepTheTimeWorked) {
  std::mt19937 random(6);
  for (int number = 0; number < 600; ++number) {
    const Instance instance = random_instance(random, number, 0);
    const Flops makespan = instance.plan.makespan;
    if (makespan == 0) continue;
    for (const std::size_t lanes : {1, 2, 64}) {
      for (const std::size_t columns : {1, 3, 20, 1000}) {
        check(instance, {0, makespan}, {lanes, columns});
        check(instance, {makespan / 3, makespan / 2}, {lanes, columns});
      }
    }
  }
}

TEST(Lanes, ShortTasksMakeOneBar) {
  const Subtrees none{{}, {-1, -1, -1}};
  LaneBuilder builder(1, {0, 100}, none, {.columns = 10});
  builder.worked(TaskId{0}, 0, 0, 4);
  builder.worked(TaskId{1}, 0, 6, 12);
  builder.worked(TaskId{2}, 0, 50, 90);
  const std::vector<GanttBar> blocks = builder.take().at(0).blocks;
  ASSERT_EQ(blocks.size(), 2U);
  EXPECT_EQ(blocks[0].tasks, 2);
  EXPECT_FALSE(blocks[0].task);
  EXPECT_EQ(blocks[0].to, 12);
  EXPECT_DOUBLE_EQ(blocks[0].busy, 10.0 / 12);
  EXPECT_EQ(blocks[1].task, TaskId{2});
  EXPECT_EQ(blocks[1].busy, 1);
}

Occupancy occupancy_of(const Instance& instance, Window window, std::size_t columns) {
  OccupancyBuilder builder(instance.plan.workers, window, columns);
  sweep(instance, builder);
  return builder.take();
}

TEST(Occupancy, AddsUpToTheWorkers) {
  std::mt19937 random(7);
  for (int number = 0; number < 1500; ++number) {
    const Instance instance = random_instance(random, number, 0);
    const Plan& plan = instance.plan;
    if (plan.makespan == 0) continue;
    const Occupancy use = occupancy_of(instance, {0, plan.makespan}, 13);
    WorkerUse mean;
    for (const WorkerUse& column : use.column) {
      ASSERT_NEAR(column.busy + column.held + column.short_of_work, plan.workers, 1e-9);
      mean.busy += column.busy / 13;
      mean.held += column.held / 13;
    }
    ASSERT_NEAR(mean.busy, use.mean.busy, 1e-9) << instance.text();
    ASSERT_NEAR(mean.held, use.mean.held, 1e-9) << instance.text();
    Flops work = 0;
    for (const TaskId task : plan.tree->postorder()) work += plan.tree->work(task);
    if (instance.max_workers.empty()) {
      ASSERT_NEAR(use.mean.busy * plan.makespan, work, 1e-6) << instance.text();
    }
  }
}

TEST(Occupancy, WithoutABoundNobodyWaitsForMemory) {
  std::mt19937 random(8);
  for (int number = 0; number < 500; ++number) {
    Instance instance = random_instance(random, number, 1);
    PlanOptions options;
    options.workers = instance.plan.workers;
    options.memory_bound = Bytes{1} << 40;
    instance.max_workers.clear();
    instance.plan = make_plan(instance.plan.tree, options).value();
    const Occupancy use = occupancy_of(instance, {0, instance.plan.makespan}, 5);
    ASSERT_EQ(use.mean.held, 0) << instance.text();
  }
}

// 7 bytes: b, a and the root run alone; a is held while b runs.
TEST(Occupancy, OfTheDrawnTree) {
  const WorkerUse use = occupancy_of({drawn_plan(7), {}}, {0, 3}, 3).mean;
  EXPECT_DOUBLE_EQ(use.busy, 1);
  EXPECT_DOUBLE_EQ(use.held, 1.0 / 3);
  EXPECT_DOUBLE_EQ(use.short_of_work, 2.0 / 3);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::report
