#include "policy/core/replay_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "espalier/model/error.h"
#include "espalier/parallel/make_plan.h"

namespace espalier::policy {
namespace TEST_SOURCE {

constexpr Bytes kNoBound = std::numeric_limits<Bytes>::max();

// A record of nodes whose tasks are added one by one.
struct Draft {
  RunRecord run;
  explicit Draft(std::vector<Task> nodes) {
    run.max_workers.assign(nodes.size(), 1);
    run.nodes = std::move(nodes);
    run.kinds = {"task"};
    run.after_start = {0};
  }
  std::int32_t add(std::int32_t node, Seconds seconds, std::vector<std::int32_t> after,
                   Bytes taken = 0, Bytes kept = 0) {
    RunRecord::Task task;
    task.node = node;
    task.seconds = task.processor = seconds;
    task.taken = taken;
    task.kept = kept;
    run.tasks.push_back(task);
    run.after.insert(run.after.end(), after.begin(), after.end());
    run.after_start.push_back(static_cast<std::int64_t>(run.after.size()));
    return static_cast<std::int32_t>(run.tasks.size()) - 1;
  }
};

std::shared_ptr<const Plan> plan_of(const RunRecord& run, std::int32_t workers,
                                    Bytes bound) {
  PlanOptions options;
  options.workers = workers;
  options.memory_bound = bound;
  options.order = OrderKind::kLiu;
  auto plan = make_plan(std::make_shared<const TaskTree>(run.nodes), options);
  return plan ? std::make_shared<const Plan>(std::move(*plan)) : nullptr;
}

ReplayedRun replay(const RunRecord& run, std::int32_t workers, Bytes bound = kNoBound) {
  return replay_run(run, plan_of(run, workers, bound));
}

TEST(ReplayRun, OfADiamondByHand) {
  // One node: 1 s, then two of 2 s beside each other, then 1 s; each beside 0.5 s.
  Draft draft({Task{}});
  const auto a = draft.add(0, 1, {});
  const auto b = draft.add(0, 2, {a}), c = draft.add(0, 2, {a});
  draft.add(0, 1, {b, c});
  draft.run.overhead = 0.5;
  EXPECT_DOUBLE_EQ(replay(draft.run, 1).makespan, 8);
  const ReplayedRun two = replay(draft.run, 2);
  EXPECT_DOUBLE_EQ(two.makespan, 5.5);
  EXPECT_DOUBLE_EQ(two.busy, 8);
  EXPECT_EQ(two.workers, 2);
  EXPECT_DOUBLE_EQ(replay(draft.run, 64).makespan, 5.5);
}

TEST(ReplayRun, TakesProcessorTimeWhereItIsToldTo) {
  Draft draft({Task{}});
  draft.add(0, 3, {});
  draft.run.tasks[0].processor = 1;
  const auto plan = plan_of(draft.run, 1, kNoBound);
  EXPECT_EQ(replay_run(draft.run, plan).makespan, 3);
  EXPECT_EQ(replay_run(draft.run, plan, {.processor_time = true}).makespan, 1);
}

TEST(ReplayRun, HoldsNodesThatDoNotFitBesideEachOther) {
  // Two leaves of 10 bytes, of which each leaves 1, under a root.
  const std::vector<Task> nodes = {{TaskId{2}, 1, 9, 0, 1}, {TaskId{2}, 1, 9, 0, 1}, {}};
  Draft draft(nodes);
  const auto a = draft.add(0, 1, {}, 10, 1), b = draft.add(1, 1, {}, 10, 1);
  draft.add(2, 1, {a, b}, 0, -2);
  const ReplayedRun wide = replay(draft.run, 2, 20);
  EXPECT_EQ(wide.makespan, 2);
  EXPECT_EQ(wide.peak, 20);
  const ReplayedRun narrow = replay(draft.run, 2, 11);
  EXPECT_EQ(narrow.makespan, 3);
  EXPECT_EQ(narrow.peak, 11);
  EXPECT_EQ(narrow.booked_peak, 11);
  EXPECT_GT(narrow.held_tasks, 0);
}

TEST(ReplayRun, EndsNodesWithoutTasks) {
  Draft draft({Task{TaskId{1}}, Task{TaskId{2}}, Task{}});
  draft.add(2, 1, {});
  EXPECT_EQ(replay(draft.run, 3).makespan, 1);
}

// A random tree with random tasks in each node, which take what the node may have.
RunRecord random_run(std::mt19937& random) {
  const auto draw = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  std::vector<Task> nodes(static_cast<std::size_t>(draw(1, 12)));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (i + 1 < nodes.size())
      nodes[i].parent =
          task_id(i + 1 + random() % std::min<std::size_t>(3, nodes.size() - i - 1));
    nodes[i].output_size = draw(0, 9);
    nodes[i].execution_size = draw(0, 9);
    nodes[i].retained_size = draw(0, 4);
    nodes[i].work = draw(1, 20);
  }
  Draft draft(nodes);
  std::vector<std::vector<std::int32_t>> of_node(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::vector<std::int32_t> before;
    Bytes inputs = 0;
    for (std::size_t c = 0; c < i; ++c) {
      if (nodes[c].parent != task_id(i)) continue;
      before.insert(before.end(), of_node[c].begin(), of_node[c].end());
      inputs += nodes[c].output_size;
    }
    const Bytes held = nodes[i].output_size + nodes[i].retained_size;
    const auto node = static_cast<std::int32_t>(i);
    const auto first = draft.add(node, draw(1, 5), before, held, held);
    std::vector<std::int32_t> middle;
    for (int more = draw(0, 4); more > 0; --more)
      middle.push_back(draft.add(node, draw(0, 5), {first}));
    middle.push_back(first);
    of_node[i] = {draft.add(node, draw(0, 2), middle, nodes[i].execution_size, -inputs)};
  }
  return draft.run;
}

TEST(ReplayRun, StaysInsideTheBoundAndBetweenWorkAndPath) {
  std::mt19937 random(11);
  for (int instance = 0; instance < 1000; ++instance) {
    const RunRecord run = random_run(random);
    Seconds work = 0, path = 0;
    std::vector<Seconds> end(run.tasks.size(), 0);
    for (std::size_t i = 0; i < run.tasks.size(); ++i) {
      for (const std::int32_t before : run.waits_for(i))
        end[i] = std::max(end[i], end[before]);
      end[i] += run.tasks[i].seconds;
      work += run.tasks[i].seconds;
      path = std::max(path, end[i]);
    }
    const Bytes least = plan_of(run, 1, kNoBound)->least_bytes;
    for (const std::int32_t workers : {1, 2, 5, 64}) {
      const ReplayedRun free = replay(run, workers);
      ASSERT_GE(free.makespan, std::max(path, work / workers) - 1e-9) << instance;
      ASSERT_LE(free.makespan, work + 1e-9) << instance;
      ASSERT_DOUBLE_EQ(free.busy, work) << instance;
      if (workers == 64) {
        ASSERT_DOUBLE_EQ(free.makespan, path) << instance;
      }
      const ReplayedRun bound = replay(run, workers, least);
      ASSERT_LE(bound.peak, bound.booked_peak) << instance;
      ASSERT_LE(bound.booked_peak, least) << instance;
      ASSERT_LE(bound.makespan, work + 1e-9) << instance;
    }
  }
}

TEST(ReplayRun, SaysWhereARecordCannotRun) {
  Draft draft({Task{}});
  draft.add(0, 1, {});
  draft.run.tasks.push_back(draft.run.tasks[0]);
  draft.run.after = {1};  // itself: no reader lets that through
  draft.run.after_start = {0, 0, 1};
  EXPECT_THROW((void)replay(draft.run, 1), Error);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
