#include "espalier/model/task_graph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "espalier/model/error.h"
#include "espalier/model/graph_builder.h"
#include "espalier/model/replay_graph.h"
#include "espalier/model/validate_graph.h"
#include "espalier/model/work_sum.h"
#include "support/error_message.h"
#include "support/exact_graph.h"
#include "support/random_graphs.h"

namespace espalier {
namespace TEST_SOURCE {

using support::error_message;

// x (5) -> a (workspace 1) -> y (2) -> b -> z (3, kept): the example of the header.
TaskGraphBuilder example() {
  TaskGraphBuilder builder;
  const DatumId x = builder.add_datum("x", 5), y = builder.add_datum("y", 2),
                z = builder.add_datum("z", 3);
  const TaskId a = builder.add_task("a", 1, 7), b = builder.add_task("b");
  builder.reads(a, x);
  builder.writes(a, y);
  builder.reads(b, y);
  builder.writes(b, z);
  builder.keep(z);
  return builder;
}

TEST(TaskGraph, TellsWhatItWasBuiltFrom) {
  TaskGraphBuilder builder = example();
  EXPECT_EQ(builder.find_datum("y"), datum_id(1));
  EXPECT_EQ(builder.find_task("b"), task_id(1));
  EXPECT_FALSE(builder.find_task("y"));
  EXPECT_FALSE(builder.find_datum(""));
  const TaskGraph graph = std::move(builder).build();
  ASSERT_EQ(graph.size(), 2U);
  ASSERT_EQ(graph.data(), 3U);
  EXPECT_EQ(graph.name(task_id(0)), "a");
  EXPECT_EQ(graph.name(datum_id(2)), "z");
  EXPECT_EQ(graph.workspace(task_id(0)), 1);
  EXPECT_EQ(graph.work(task_id(0)), 7);
  EXPECT_EQ(graph.memory_requirement(task_id(0)), 8);
  EXPECT_EQ(graph.initial_bytes(), 5);
  EXPECT_EQ(graph.final_bytes(), 3);
  EXPECT_FALSE(graph.producer(datum_id(0)));
  EXPECT_EQ(graph.producer(datum_id(1)), task_id(0));
  ASSERT_EQ(graph.consumers(datum_id(1)).size(), 1U);
  EXPECT_EQ(graph.consumers(datum_id(1))[0], task_id(1));
  EXPECT_TRUE(graph.kept(datum_id(2)));
  EXPECT_EQ(label(graph, task_id(1)), "operator 'b'");
  EXPECT_EQ(label(graph, datum_id(0)), "datum 'x'");
}

TEST(TaskGraph, ListsADatumThatIsReadTwiceOnce) {
  TaskGraphBuilder builder;
  const DatumId x = builder.add_datum("x", 4), y = builder.add_datum("y", 1);
  const TaskId square = builder.add_task("square");
  builder.reads(square, x);
  builder.reads(square, y);
  builder.reads(square, x);
  const TaskGraph graph = std::move(builder).build();
  EXPECT_EQ(graph.inputs(square).size(), 2U);
  EXPECT_EQ(graph.consumers(x).size(), 1U);
  EXPECT_EQ(graph.memory_requirement(square), 5);
}

TEST(TaskGraph, OrdersOperatorsThatWereAddedInAnyOrder) {
  TaskGraphBuilder builder;
  const TaskId last = builder.add_task("last"), first = builder.add_task("first"),
               other = builder.add_task("other");
  const DatumId x = builder.add_datum("x", 1);
  builder.writes(first, x);
  builder.reads(last, x);
  const TaskGraph graph = std::move(builder).build();
  const auto order = graph.topological_order();
  EXPECT_EQ(std::vector<TaskId>(order.begin(), order.end()),
            (std::vector<TaskId>{first, last, other}));
}

TEST(TaskGraph, RefusesWhatIsNoGraph) {
  TaskGraphBuilder builder = example();
  const TaskId a = task_id(0), b = task_id(1), unknown = task_id(9);
  const DatumId x = datum_id(0), y = datum_id(1), nowhere = datum_id(9);
  EXPECT_EQ(error_message([&] { builder.add_datum("x", 1); }),
            "two data have the name 'x'");
  EXPECT_EQ(error_message([&] { builder.add_task("a"); }),
            "two operators have the name 'a'");
  EXPECT_EQ(error_message([&] { builder.add_datum("w", -1); }),
            "datum 'w': size -1 is negative");
  EXPECT_EQ(error_message([&] { builder.add_task("", -3); }),
            "operator 2: workspace -3 is negative");
  EXPECT_EQ(error_message([&] { builder.add_task("c", 0, -1); }),
            "operator 'c': work -1 is negative or not finite");
  EXPECT_EQ(error_message([&] { builder.writes(b, y); }),
            "datum 'y' is written by operator 'a' and by operator 'b'");
  EXPECT_EQ(error_message([&] { builder.reads(unknown, y); }),
            "operator 9 is not one of the 2");
  EXPECT_EQ(error_message([&] { builder.reads(a, nowhere); }),
            "datum 9 is not one of the 3");
  EXPECT_EQ(error_message([&] { builder.keep(nowhere); }), "datum 9 is not one of the 3");
  EXPECT_EQ(builder.find_datum("w"), std::nullopt);
  const TaskGraph graph = std::move(builder).build();  // as if nothing had been tried
  EXPECT_EQ(graph.size(), 2U);
  EXPECT_EQ(graph.data(), 3U);
  EXPECT_EQ(graph.inputs(a)[0], x);
}

TEST(TaskGraph, NamesAnOperatorOnACycle) {
  TaskGraphBuilder builder = example();
  builder.reads(task_id(0), datum_id(2));
  const TaskId behind = builder.add_task("behind");
  builder.reads(behind, datum_id(2));
  const std::string message = error_message([&] { (void)std::move(builder).build(); });
  EXPECT_TRUE(message == "operator 'a' waits for its own output: the graph has a cycle" ||
              message == "operator 'b' waits for its own output: the graph has a cycle")
      << message;
}

TEST(TaskGraph, RefusesAnOperatorThatReadsWhatItWrites) {
  TaskGraphBuilder builder;
  const TaskId a = builder.add_task("a");
  const DatumId x = builder.add_datum("x", 1);
  builder.writes(a, x);
  builder.reads(a, x);
  EXPECT_EQ(error_message([&] { (void)std::move(builder).build(); }),
            "operator 'a' waits for its own output: the graph has a cycle");
}

TEST(TaskGraph, RefusesSumsBeyondTheRangeAndTakesThoseWithin) {
  constexpr Bytes kHalf = Bytes{1} << 62;
  TaskGraphBuilder builder;
  const DatumId x = builder.add_datum("x", kHalf);
  EXPECT_THROW(builder.add_datum("y", kHalf), OverflowError);
  const TaskId a = builder.add_task("a", kHalf - 1);
  EXPECT_THROW(builder.add_task("b", 1), OverflowError);
  EXPECT_THROW(builder.add_task("b", 0, 2 * kMostWork), OverflowError);
  builder.reads(a, x);
  const TaskGraph graph = std::move(builder).build();
  EXPECT_EQ(replay(graph, graph.topological_order()).peak,
            std::numeric_limits<Bytes>::max());
}

TEST(TaskGraph, HoldsAMillionNames) {
  constexpr std::size_t kTasks = 1'000'000;
  TaskGraphBuilder builder;
  DatumId last = builder.add_datum("d", 1);
  for (std::size_t i = 0; i < kTasks; ++i) {
    const TaskId task = builder.add_task(fmt::format("op{}", i));
    builder.reads(task, last);
    last = builder.add_datum(fmt::format("d{}", i), 1);
    builder.writes(task, last);
  }
  EXPECT_EQ(builder.find_task("op777777"), task_id(777777));
  EXPECT_THROW(builder.add_task("op5"), InvalidInput);
  const TaskGraph graph = std::move(builder).build();
  EXPECT_EQ(graph.name(task_id(123456)), "op123456");
  EXPECT_EQ(replay(graph, graph.topological_order()).peak, 2);
}

TEST(GraphReplay, FollowsTheExample) {
  const TaskGraph graph = example().build();
  const Replay run = replay(graph, graph.topological_order());
  EXPECT_EQ(run.peak, 8);
  EXPECT_EQ(run.peak_task, task_id(0));
  EXPECT_EQ(run.makespan, 2);
  EXPECT_EQ(run.profile,
            (std::vector<MemoryPoint>{{0, 5}, {0, 8}, {1, 2}, {1, 5}, {2, 3}}));
}

TEST(GraphReplay, CountsWhatIsThereBeforeAnythingRuns) {
  TaskGraphBuilder builder;
  builder.add_datum("x", 7);
  const TaskGraph graph = std::move(builder).build();
  EXPECT_EQ(replay(graph, {}).peak, 7);
  EXPECT_EQ(graph.final_bytes(), 7);
  EXPECT_EQ(validate(graph, Traversal{{}, 7}), Violations());
}

TEST(GraphReplay, RefusesWhatIsNoOrder) {
  const TaskGraph graph = example().build();
  const std::vector<TaskId> backwards = {task_id(1), task_id(0)};
  const std::vector<TaskId> twice = {task_id(0), task_id(0)};
  const std::vector<TaskId> foreign = {task_id(0), task_id(2)};
  EXPECT_EQ(error_message([&] { (void)replay(graph, backwards); }),
            "operator 'b' runs before operator 'a' has written datum 'y'");
  EXPECT_EQ(error_message([&] { (void)replay(graph, twice); }),
            "operator 'a' runs twice");
  EXPECT_EQ(error_message([&] { (void)replay(graph, foreign); }),
            "operator 2 of the order is not one of the 2 operators");
  EXPECT_EQ(error_message([&] { (void)replay(graph, {}); }),
            "the order has 0 operators, the graph 2");
}

TEST(GraphReplay, MatchesTheDefinitionOnRandomOrders) {
  std::mt19937 random(31);
  for (int instance = 0; instance < 3000; ++instance) {
    const TaskGraph graph = support::varied_graph(random, instance, 16);
    const std::vector<TaskId> order = support::random_order(graph, random);
    const Replay run = replay(graph, order);
    ASSERT_EQ(run.peak, support::peak_of(graph, order)) << support::describe(graph);
    ASSERT_EQ(run.profile.back().bytes, graph.final_bytes());
    ASSERT_EQ(validate(graph, Traversal{order, run.peak}), Violations());
  }
}

TEST(ValidateGraph, SaysWhatIsWrong) {
  const TaskGraph graph = example().build();
  const TaskId a = task_id(0), b = task_id(1);
  EXPECT_EQ(validate(graph, Traversal{{a, b}, 9}), Violations{"the peak is 8, not 9"});
  EXPECT_EQ(
      validate(graph, Traversal{{b, a}, 8}),
      Violations{"operator 'b' runs before operator 'a', whose datum 'y' it reads"});
  EXPECT_EQ(validate(graph, Traversal{{a}, 8}),
            Violations{"operator 'b' is missing from the order"});
  EXPECT_EQ(validate(graph, Traversal{{a, b, a}, 8}),
            Violations{"operator 'a' is at positions 0 and 2"});
  EXPECT_EQ(validate(graph, Traversal{{a, b, task_id(5)}, 8}),
            Violations{"position 2 holds operator 5, the graph has 2"});
}

}  // namespace TEST_SOURCE
}  // namespace espalier
