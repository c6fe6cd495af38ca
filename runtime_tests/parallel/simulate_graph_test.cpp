#include "espalier/parallel/simulate_graph.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "espalier/model/error.h"
#include "espalier/model/replay_graph.h"
#include "espalier/model/validate_graph_schedule.h"
#include "espalier/parallel/graph_banker.h"
#include "espalier/parallel/graph_bounds.h"
#include "espalier/parallel/plan_graph.h"
#include "support/random_graphs.h"
#include "support/random_tree.h"

namespace espalier {
namespace TEST_SOURCE {

using support::describe;

constexpr GraphRule kRules[] = {GraphRule::kActivation, GraphRule::kBanker};

// a (work 2) writes x (3), which b (4) and c (1) read; they write 1 and 2 bytes for d
// (work 3). Workspace of c: 2.
TaskGraph fork_join() {
  TaskGraphBuilder builder;
  const DatumId x = builder.add_datum("x", 3), y = builder.add_datum("y", 1),
                z = builder.add_datum("z", 2);
  const TaskId a = builder.add_task("a", 0, 2), b = builder.add_task("b", 0, 4),
               c = builder.add_task("c", 2, 1), d = builder.add_task("d", 0, 3);
  builder.writes(a, x);
  builder.reads(b, x);
  builder.reads(c, x);
  builder.writes(b, y);
  builder.writes(c, z);
  builder.reads(d, y);
  builder.reads(d, z);
  return std::move(builder).build();
}

const std::vector<TaskId> kInOrder = {TaskId{0}, TaskId{1}, TaskId{2}, TaskId{3}};

TEST(SimulateGraph, FollowsAnExample) {
  const TaskGraph graph = fork_join();
  EXPECT_EQ(replay(graph, kInOrder).peak, 8);  // c: 3 + 1 + 2 + 2
  for (const GraphRule rule : kRules) {
    const auto plan = plan_graph(graph, kInOrder, {2, std::nullopt, rule});
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->schedule.start, (std::vector<Seconds>{0, 2, 2, 6}));
    EXPECT_EQ(plan->makespan, 9);
    EXPECT_EQ(plan->peak, 8);
    EXPECT_EQ(plan->memory_bound, 8);
  }
}

TEST(GraphBounds, AreThoseOfAnExample) {
  const LowerBounds bounds = lower_bounds(fork_join(), 2, 10);
  EXPECT_EQ(bounds.work, 5);
  EXPECT_EQ(bounds.critical_path, 9);
  // x 3 (2 + 4), y 1 (4 + 3), z 2 (1 + 3), workspace 2 x 1
  EXPECT_DOUBLE_EQ(bounds.memory_area, (18 + 7 + 8 + 2) / 10.0);
  EXPECT_EQ(path_weights(fork_join()), (std::vector<Flops>{9, 7, 4, 3}));
  EXPECT_EQ(lower_bounds(fork_join(), 1, std::nullopt).memory_area, 0);
}

// p (work 1) writes k (2), kept; q (work 5) reads s (4), there from the start, and the
// 0 bytes that r (work 3) writes. t (1) is there from the start and read by nobody.
TEST(GraphBounds, KeptAndInitialDataLiveLonger) {
  TaskGraphBuilder builder;
  const DatumId k = builder.add_datum("k", 2), s = builder.add_datum("s", 4),
                e = builder.add_datum("e", 0);
  builder.add_datum("t", 1);
  const TaskId p = builder.add_task("p", 0, 1), q = builder.add_task("q", 0, 5),
               r = builder.add_task("r", 0, 3);
  builder.writes(p, k);
  builder.keep(k);
  builder.reads(q, s);
  builder.writes(r, e);
  builder.reads(q, e);
  const TaskGraph graph = std::move(builder).build();
  // k 2 x 1, s 4 x (3 + 5), t 1 x 8
  EXPECT_DOUBLE_EQ(lower_bounds(graph, 3, 7).memory_area, (2 + 32 + 8) / 7.0);
}

TEST(PlanGraph, KeepsTheBoundOnRandomGraphs) {
  std::mt19937 random(71);
  for (int round = 0; round < 20'000; ++round) {
    const TaskGraph graph = support::varied_graph(random, round, 25);
    const std::vector<TaskId> witness = support::random_order(graph, random);
    const Bytes peak = replay(graph, witness).peak;
    GraphPlanOptions options{.workers = static_cast<std::int32_t>(1 + random() % 8),
                             .rule = kRules[round % 2]};
    if (round % 3 != 0) options.memory_bound = peak + random() % (peak + 1);
    const auto plan = plan_graph(graph, witness, options);
    ASSERT_TRUE(plan);
    ASSERT_EQ(validate(graph, plan->schedule, plan->memory_bound), Violations())
        << describe(graph) << support::describe(witness);
    ASSERT_LE(plan->peak, plan->memory_bound) << describe(graph);
    ASSERT_GE(plan->makespan + 1e-9, plan->lower_bounds.best()) << describe(graph);
    for (std::size_t i = 0; i < graph.size(); ++i) {
      ASSERT_EQ(plan->schedule.end[i] - plan->schedule.start[i], graph.work(task_id(i)));
    }
  }
}

TEST(PlanGraph, OneWorkerIsNeverIdle) {
  std::mt19937 random(73);
  for (int round = 0; round < 2000; ++round) {
    const TaskGraph graph = support::varied_graph(random, round, 20);
    const std::vector<TaskId> witness = support::random_order(graph, random);
    Flops work = 0;
    for (const TaskId task : witness) work += graph.work(task);
    for (const GraphRule rule : kRules) {
      const auto plan = plan_graph(graph, witness, {1, std::nullopt, rule});
      ASSERT_EQ(plan->makespan, work) << describe(graph);
      ASSERT_EQ(replay(graph, plan->schedule.sequence).peak, plan->peak)
          << describe(graph);
    }
  }
}

TEST(SimulateGraph, WithPlentyOfMemoryTheRulesAgree) {
  std::mt19937 random(79);
  for (int round = 0; round < 1000; ++round) {
    const TaskGraph graph = support::varied_graph(random, round, 20);
    const std::vector<TaskId> witness = support::random_order(graph, random);
    constexpr Bytes kPlenty = 1'000'000;
    GraphActivation activation(graph, witness, kPlenty);
    GraphBanker banker(graph, witness, kPlenty);
    ASSERT_EQ(simulate(graph, activation, 3).schedule.start,
              simulate(graph, banker, 3).schedule.start)
        << describe(graph);
  }
}

TEST(PlanGraph, TakesTheShorterRun) {
  std::mt19937 random(89);
  int taken[2] = {0, 0};
  for (int round = 0; round < 2000; ++round) {
    const TaskGraph graph = support::varied_graph(random, round, 25);
    const std::vector<TaskId> witness = support::random_order(graph, random);
    const auto plan = plan_graph(graph, witness, {4, std::nullopt, GraphRule::kShorter});
    Flops shortest = std::numeric_limits<Flops>::infinity();
    for (const GraphRule rule : kRules) {
      const Flops makespan =
          plan_graph(graph, witness, {4, std::nullopt, rule})->makespan;
      shortest = std::min(shortest, makespan);
      if (rule == plan->rule) {
        EXPECT_EQ(plan->makespan, makespan);
      }
    }
    ASSERT_EQ(plan->makespan, shortest) << describe(graph);
    ++taken[plan->rule == GraphRule::kBanker];
  }
  EXPECT_GT(taken[0], 0);
  EXPECT_GT(taken[1], 0);
}

TEST(PlanGraph, SaysWhatWouldSuffice) {
  const auto refused = plan_graph(fork_join(), kInOrder, {2, 7, GraphRule::kBanker});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, Infeasible::Reason::kNoneFound);
  EXPECT_EQ(refused.error().least_bytes, 8);
  EXPECT_EQ(refused.error().lower_bound_bytes, 7);  // c alone: 3 + 2 + 2
  EXPECT_EQ(plan_graph(fork_join(), kInOrder, {2, 6, GraphRule::kBanker}).error().reason,
            Infeasible::Reason::kImpossible);
  const auto proved = plan_graph(fork_join(), kInOrder,
                                 {.workers = 2, .memory_bound = 7, .lower_bound = 8});
  EXPECT_EQ(proved.error().reason, Infeasible::Reason::kImpossible);
  EXPECT_EQ(proved.error().lower_bound_bytes, 8);
  EXPECT_THROW((void)plan_graph(fork_join(), kInOrder, {.workers = 0}), InvalidInput);
  EXPECT_THROW((void)plan_graph(fork_join(), {}, {}), InvalidInput);
}

TEST(SimulateGraph, RefusesOtherPriorities) {
  const TaskGraph graph = fork_join();
  GraphActivation admission(graph, kInOrder, 8);
  const std::vector<Flops> three(3, 1.0);
  EXPECT_THROW((void)simulate(graph, admission, 2, three), InvalidInput);
}

// Layers of `width` operators, each reading one or two of the layer before.
TaskGraph layers(std::size_t count, std::size_t width, Bytes size) {
  std::mt19937 random(83);
  TaskGraphBuilder builder;
  std::vector<DatumId> before, here;
  for (std::size_t i = 0; i < count; ++i) {
    const TaskId task = builder.add_task("", 0, 1 + static_cast<Flops>(random() % 9));
    if (!before.empty()) {
      builder.reads(task, before[i % width]);
      builder.reads(task, before[random() % before.size()]);
    }
    here.push_back(builder.add_datum("", size));
    builder.writes(task, here.back());
    if (here.size() == width) before = std::exchange(here, {});
  }
  return std::move(builder).build();
}

TEST(PlanGraph, TakesLargeGraphsAndLargeSizes) {
  for (const std::size_t width : {std::size_t{1}, std::size_t{30}, std::size_t{10'000}}) {
    const TaskGraph graph = layers(100'000, width, 3);
    for (const GraphRule rule : kRules) {
      const auto plan =
          plan_graph(graph, graph.topological_order(), {8, std::nullopt, rule});
      ASSERT_TRUE(plan);
      EXPECT_EQ(validate(graph, plan->schedule, plan->memory_bound), Violations());
    }
  }
  const TaskGraph large = layers(7, 2, Bytes{1} << 60);
  for (const GraphRule rule : kRules) {
    const auto plan =
        plan_graph(large, large.topological_order(), {2, std::nullopt, rule});
    ASSERT_TRUE(plan);
    EXPECT_EQ(validate(large, plan->schedule, plan->memory_bound), Violations());
    EXPECT_TRUE(plan_graph(TaskGraph(), {}, {4, 0, rule}));
  }
}

TEST(PlanGraph, ManyReadersOfOneDatum) {
  TaskGraphBuilder builder;
  const DatumId shared = builder.add_datum("", 100);
  for (int i = 0; i < 50'000; ++i) {
    const TaskId task = builder.add_task("", 0, 1);
    builder.reads(task, shared);
    builder.writes(task, builder.add_datum("", 1));
  }
  const TaskGraph graph = std::move(builder).build();
  for (const GraphRule rule : kRules) {
    const auto plan = plan_graph(graph, graph.topological_order(), {4, 104, rule});
    EXPECT_EQ(plan->makespan, 12'500);
    EXPECT_EQ(plan->peak, 104);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier
