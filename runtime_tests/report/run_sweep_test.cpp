#include "espalier/report/run_sweep.h"

#include <gtest/gtest.h>

#include "espalier/model/error.h"
#include "report/plans.h"

namespace espalier::report {
namespace TEST_SOURCE {

struct Piece {
  TaskId task;
  std::int32_t worker;
  Seconds from, to;
};

class Recorder : public RunObserver {
 public:
  void worked(TaskId task, std::int32_t worker, Seconds from, Seconds to) override {
    pieces.push_back({task, worker, from, to});
  }
  void passed(Seconds from, Seconds to, std::int32_t busy, std::int64_t wanted) override {
    busy_time += (to - from) * busy;
    wanted_time += (to - from) * static_cast<double>(wanted);
  }
  std::vector<Piece> pieces;
  double busy_time = 0, wanted_time = 0;
};

Recorder sweep(const Instance& instance) {
  Recorder recorder;
  const Plan& plan = instance.plan;
  sweep(*plan.tree, plan.schedule, {instance.max_workers, plan.priority, plan.mapping},
        recorder);
  return recorder;
}

// Work that the pieces of a task do: min(useful, workers at that time), integrated.
double work_done(const std::vector<Piece>& pieces, double useful) {
  std::vector<Seconds> times;
  for (const Piece& piece : pieces) {
    times.push_back(piece.from);
    times.push_back(piece.to);
  }
  std::sort(times.begin(), times.end());
  double work = 0;
  for (std::size_t k = 0; k + 1 < times.size(); ++k) {
    const auto workers = std::count_if(pieces.begin(), pieces.end(), [&](const Piece& p) {
      return p.from <= times[k] && times[k + 1] <= p.to;
    });
    work += (times[k + 1] - times[k]) * std::min(useful, static_cast<double>(workers));
  }
  return work;
}

TEST(RunSweep, WorkersDoTheWorkOfEachTask) {
  std::mt19937 random(1);
  for (int number = 0; number < 2000; ++number) {
    const Instance instance = random_instance(random, number, 1);
    const TaskTree& tree = instance.tree();
    std::vector<std::vector<Piece>> of_task(tree.size());
    for (const Piece& piece : sweep(instance).pieces) {
      of_task[index(piece.task)].push_back(piece);
    }
    for (std::size_t i = 0; i < tree.size(); ++i) {
      const double useful = instance.max_workers.empty() ? 1 : instance.max_workers[i];
      const double most = std::min<double>(useful, instance.plan.workers);
      ASSERT_NEAR(work_done(of_task[i], most), tree.work(task_id(i)), 1e-9)
          << "task " << i << '\n'
          << instance.text();
    }
  }
}

TEST(RunSweep, AWorkerRunsOneTaskAtATime) {
  std::mt19937 random(2);
  for (int number = 0; number < 2000; ++number) {
    const Instance instance = random_instance(random, number, 0);
    const Recorder run = sweep(instance);
    std::vector<Seconds> free(static_cast<std::size_t>(instance.plan.workers), 0);
    double worked = 0;
    for (const Piece& piece : run.pieces) {
      Seconds& since = free.at(static_cast<std::size_t>(piece.worker));
      ASSERT_LE(since, piece.from) << instance.text();
      ASSERT_LT(piece.from, piece.to) << instance.text();
      since = piece.to;
      worked += piece.to - piece.from;
    }
    ASSERT_NEAR(worked, run.busy_time, 1e-9) << instance.text();
  }
}

TEST(RunSweep, BothLeavesOfTheDrawnTreeRunAtOnce) {
  const Instance instance{drawn_plan(9), {}};
  const Recorder run = sweep(instance);
  ASSERT_EQ(run.pieces.size(), 3U);
  EXPECT_NE(run.pieces[0].worker, run.pieces[1].worker);
  EXPECT_EQ(run.pieces[2].task, TaskId{0});
  EXPECT_EQ(run.pieces[2].from, 1);
  EXPECT_EQ(run.busy_time, 3);
  EXPECT_EQ(run.wanted_time, 0);
}

TEST(RunSweep, TheLeafThatDoesNotFitIsWanted) {
  const Instance instance{drawn_plan(7), {}};
  EXPECT_EQ(sweep(instance).wanted_time, 1);
}

TEST(RunSweep, TasksRunOnTheirWorkersWhereTheseAreIdle) {
  Instance instance{drawn_plan(9), {}};
  instance.plan.mapping = {{1, 1}, {1, 1}, {0, 1}};
  for (const Piece& piece : sweep(instance).pieces) {
    EXPECT_EQ(piece.worker, piece.task == TaskId{2} ? 0 : 1);
  }
}

TEST(RunSweep, ManyWorkersAreTakenFromTheRangeThatIsPreferred) {
  PlanOptions options;
  options.workers = 200;
  options.max_workers = {70};
  Instance instance{plan_of({Task{{}, 1, 0, 0, 70}}, options), {70}};
  instance.plan.mapping = {{100, 70}};
  const Recorder run = sweep(instance);
  ASSERT_EQ(run.pieces.size(), 70U);
  for (const Piece& piece : run.pieces) {
    EXPECT_GE(piece.worker, 100);
    EXPECT_LT(piece.worker, 170);
  }
}

TEST(RunSweep, RefusesMoreTasksThanWorkers) {
  Plan plan = drawn_plan(9);
  plan.schedule.workers = 1;
  plan.schedule.share.clear();
  Recorder recorder;
  EXPECT_THROW(sweep(*plan.tree, plan.schedule, {}, recorder), InvalidInput);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::report
