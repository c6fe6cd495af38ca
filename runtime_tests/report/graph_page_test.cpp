#include "espalier/report/graph_page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "espalier/model/replay_graph.h"
#include "espalier/report/graph_picture.h"
#include "report/column_range.h"
#include "support/random_graphs.h"

namespace espalier::report {
namespace TEST_SOURCE {

using nlohmann::json;

TaskGraph random_graph(std::mt19937& random, int number) {
  return support::random_graph(random,
                               {.tasks = 1 + static_cast<std::size_t>(number) % 30});
}

void check(const MemoryChart& chart, const std::vector<MemoryPoint>& profile) {
  for (std::size_t c = 0; c < chart.columns.start.size(); ++c) {
    const Range expected = range_of(profile, chart.columns, c);
    ASSERT_EQ(chart.high[c], expected.high) << "column " << c;
    ASSERT_EQ(chart.low[c], expected.low) << "column " << c;
    Bytes parts = 0;
    for (const std::vector<Bytes>& part : chart.part) parts += part[c];
    ASSERT_EQ(parts, chart.high[c]) << "column " << c;
  }
}

TEST(GraphPicture, HighAndLowAreThoseOfTheProfile) {
  std::mt19937 random(21);
  for (int number = 0; number < 3000; ++number) {
    const TaskGraph graph = random_graph(random, number);
    const std::span<const TaskId> order = graph.topological_order();
    const Replay replayed = replay(graph, order);
    const GraphPicture picture = picture_of(graph, order);
    check(picture.whole, replayed.profile);
    check(picture.peak, replayed.profile);
    ASSERT_EQ(*std::ranges::max_element(picture.while_running), replayed.peak);
    ASSERT_EQ(*std::ranges::max_element(picture.whole.high), replayed.peak);
  }
}

TEST(GraphPicture, WhatIsHeldAtThePeakAddsUpToIt) {
  std::mt19937 random(22);
  for (int number = 0; number < 3000; ++number) {
    const TaskGraph graph = random_graph(random, number);
    const GraphPicture picture = picture_of(graph, graph.topological_order());
    Bytes held = graph.workspace(*picture.replay.peak_task);
    for (const HeldDatum& each : picture.held) held += graph.size(each.datum);
    ASSERT_EQ(held, picture.replay.peak) << "instance " << number;
  }
}

// The graph drawn in espalier/model/task_graph.h: 8 bytes while 'a' runs.
TaskGraph drawn_graph() {
  TaskGraphBuilder builder;
  const DatumId x = builder.add_datum("x", 5);
  const DatumId y = builder.add_datum("y", 2);
  const DatumId z = builder.add_datum("z", 3);
  const TaskId a = builder.add_task("a", 1);
  const TaskId b = builder.add_task("b");
  builder.reads(a, x);
  builder.writes(a, y);
  builder.reads(b, y);
  builder.writes(b, z);
  builder.keep(z);
  return std::move(builder).build();
}

TEST(GraphPage, OfTheDrawnGraph) {
  const TaskGraph graph = drawn_graph();
  GraphPage page;
  page.graph = &graph;
  page.title = "drawn";
  page.order = graph.topological_order();
  page.lower_bound_bytes = 8;
  const json data = json::parse(data_of(page));
  EXPECT_EQ(data["figures"]["least_bytes"], 8);
  EXPECT_EQ(data["figures"]["proved"], true);
  EXPECT_FALSE(data.contains("file_order"));
  EXPECT_EQ(data["order"]["whole"]["memory"]["high"], (json{8, 5, 3}));
  const json& peak = data["peak"];
  EXPECT_EQ(peak["operator"], "operator 'a'");
  EXPECT_EQ(peak["step"], 1);
  EXPECT_EQ(peak["purposes"],
            (json{{"initial_bytes", 5}, {"written_bytes", 2}, {"workspace_bytes", 1}}));
  EXPECT_EQ(peak["held"][0]["datum"], "datum 'x'");
  EXPECT_EQ(peak["held"][0]["next_step"], 1);
  EXPECT_EQ(peak["held"][1]["written_now"], true);
  EXPECT_EQ(peak["held"][1]["next_step"], 2);
  EXPECT_EQ(data["operators"][1]["own_bytes"], 5);
}

TEST(GraphPage, OfNoOperatorsIsDrawn) {
  const TaskGraph graph;
  GraphPage page;
  page.graph = &graph;
  const json data = json::parse(data_of(page));
  EXPECT_EQ(data["figures"]["operators"], 0);
  EXPECT_TRUE(data["peak"].is_null());
}

}  // namespace TEST_SOURCE
}  // namespace espalier::report
