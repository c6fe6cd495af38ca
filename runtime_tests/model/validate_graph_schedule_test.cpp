#include "espalier/model/validate_graph_schedule.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "espalier/model/graph_builder.h"
#include "espalier/model/replay_graph.h"
#include "support/random_graphs.h"

namespace espalier {
namespace TEST_SOURCE {

// x (5) is read by a and b; a writes y (2), b writes z (3); c reads both. Workspace of
// b: 1.
TaskGraph diamond() {
  TaskGraphBuilder builder;
  const DatumId x = builder.add_datum("x", 5), y = builder.add_datum("y", 2),
                z = builder.add_datum("z", 3);
  const TaskId a = builder.add_task("a", 0, 1), b = builder.add_task("b", 1, 2),
               c = builder.add_task("c", 0, 1);
  builder.reads(a, x);
  builder.reads(b, x);
  builder.writes(a, y);
  builder.writes(b, z);
  builder.reads(c, y);
  builder.reads(c, z);
  return std::move(builder).build();
}

TEST(ValidateGraphSchedule, AcceptsARunOnTwoWorkers) {
  const Schedule run{.start = {0, 0, 2}, .end = {1, 2, 3}, .workers = 2};
  EXPECT_EQ(validate(diamond(), run, 11), Violations());  // 5 + 2 + 3 + 1
  EXPECT_EQ(validate(diamond(), run, 10).size(), 1U);
}

TEST(ValidateGraphSchedule, NamesWhatIsWrong) {
  const TaskGraph graph = diamond();
  const auto wrong = [&](Schedule run) { return validate(graph, run).size(); };
  constexpr Seconds kNever = std::numeric_limits<Seconds>::infinity();
  EXPECT_EQ(wrong({.start = {0, 0, 1}, .end = {1, 2, 3}, .workers = 2}), 1U);  // c early
  EXPECT_EQ(wrong({.start = {0, 0, 2}, .end = {1, 2, 3}, .workers = 1}), 1U);  // two
  EXPECT_EQ(wrong({.start = {0, 0, 2}, .end = {1, 2, 1}, .workers = 2}),
            1U);  // backwards
  EXPECT_EQ(wrong({.start = {0, 0, 2}, .end = {1, 2, kNever}, .workers = 2}), 1U);
  EXPECT_EQ(wrong({.start = {0, 0}, .end = {1, 2}, .workers = 2}), 1U);
  EXPECT_EQ(wrong({.start = {0, 0, 2},
                   .end = {1, 2, 3},
                   .workers = 2,
                   .sequence = {TaskId{0}, TaskId{0}, TaskId{2}}}),
            2U);  // one twice, one missing
  EXPECT_NE(validate(graph, {.start = {0, 0, 1}, .end = {1, 2, 3}, .workers = 2})
                .front()
                .find("'c' starts before operator 'b' has written datum 'z'"),
            std::string::npos);
}

TEST(ValidateGraphSchedule, RunsOperatorsOfNoDurationInTheSequence) {
  const Schedule good{.start = {0, 0, 0},
                      .end = {0, 0, 0},
                      .workers = 1,
                      .sequence = {TaskId{1}, TaskId{0}, TaskId{2}}};
  EXPECT_EQ(validate(diamond(), good, 10), Violations());
  Schedule bad = good;
  bad.sequence = {TaskId{1}, TaskId{2}, TaskId{0}};
  EXPECT_EQ(validate(diamond(), bad).size(), 1U);
}

// One operator after the other: the bound holds exactly from the peak of replay() on.
TEST(ValidateGraphSchedule, AgreesWithReplayOnOneWorker) {
  std::mt19937 random(41);
  for (int instance = 0; instance < 3000; ++instance) {
    const TaskGraph graph = support::varied_graph(random, instance, 12);
    const std::vector<TaskId> order = support::random_order(graph, random);
    Schedule run{.start = std::vector<Seconds>(graph.size()),
                 .end = std::vector<Seconds>(graph.size()),
                 .workers = 1,
                 .sequence = order};
    Seconds now = 0;
    for (const TaskId task : order) {
      run.start[index(task)] = now;
      now += static_cast<Seconds>(random() % 3);
      run.end[index(task)] = now;
    }
    const Bytes peak = replay(graph, order).peak;
    ASSERT_EQ(validate(graph, run, peak), Violations()) << support::describe(graph);
    ASSERT_EQ(validate(graph, run, peak - 1).size(), 1U) << support::describe(graph);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier
