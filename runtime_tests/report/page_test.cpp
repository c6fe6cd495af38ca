#include "espalier/report/page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/html.h"
#include "report/plans.h"
#include "support/tree_shapes.h"

namespace espalier::report {
namespace TEST_SOURCE {

using nlohmann::json;

json data_in(const std::string& html) {
  json data = json::parse(embedded_data(html), nullptr, false);
  EXPECT_TRUE(data.is_object());
  return data;
}

Bytes highest(const json& view) {
  Bytes most = 0;
  for (const json& bytes : view["memory"]["high"])
    most = std::max(most, bytes.get<Bytes>());
  return most;
}

PlanPage page_of(const Instance& instance) {
  return {&instance.plan, "a tree", instance.max_workers, {}, 0, {}};
}

TEST(Page, FiguresAreThoseOfThePlan) {
  std::mt19937 random(13);
  for (int number = 0; number < 200; ++number) {
    const Instance instance = random_instance(random, number, 0);
    const Plan& plan = instance.plan;
    const json data = data_in(html(data_of(page_of(instance))));
    const json& figures = data["figures"];
    ASSERT_EQ(figures["tasks"], plan.tree->size());
    ASSERT_EQ(figures["workers"], plan.workers);
    ASSERT_EQ(figures["bound_bytes"], plan.memory_bound);
    ASSERT_EQ(figures["least_bytes"], plan.least_bytes);
    ASSERT_EQ(figures["witness_bytes"], plan.witness_peak);
    ASSERT_EQ(figures["peak_bytes"], plan.peak);
    ASSERT_EQ(figures["makespan_flops"], plan.makespan);
    ASSERT_EQ(figures["lower_bound_flops"], plan.lower_bounds.best());
    for (const char* window : {"whole", "peak"}) {
      ASSERT_EQ(highest(data["run"][window]), plan.peak) << instance.text();
      ASSERT_EQ(highest(data["order"][window]), plan.witness_peak) << instance.text();
    }
    ASSERT_EQ(data["tree"]["rows"].size(), plan.tree->size());
    ASSERT_EQ(data["peak"]["bytes"], plan.peak);
    Bytes purposes = 0;
    for (const json& bytes : data["peak"]["purposes"]) purposes += bytes.get<Bytes>();
    ASSERT_EQ(purposes, plan.peak) << instance.text();
    Bytes held = 0;
    for (const json& holder : data["peak"]["holders"])
      held += holder["bytes"].get<Bytes>();
    ASSERT_TRUE(held == plan.peak || data["peak"]["holding_tasks"] > 20);
  }
}

TEST(Page, LoadsNothingFromElsewhere) {
  const Instance instance{drawn_plan(9), {}};
  const std::string page = html(data_of(page_of(instance)));
  for (const char* word : {"src=", "href=", "url(", "@import", "fetch(", "XMLHttpRequest",
                           "import(", "<link", "<iframe", "WebSocket", "sendBeacon"}) {
    EXPECT_EQ(page.find(word), std::string::npos) << word;
  }
}

TEST(Page, CarriesTheLicenceOfTheChartLibrary) {
  const Instance instance{drawn_plan(9), {}};
  const std::string page = html(data_of(page_of(instance)));
  EXPECT_NE(page.find("Leon Sorokin"), std::string::npos);
  EXPECT_NE(page.find("Permission is hereby granted"), std::string::npos);
}

TEST(Page, NamesOfTheInputAreData) {
  const Instance instance{drawn_plan(9), {}};
  PlanPage page = page_of(instance);
  page.title = "</script><!-- <b>\xff.mtx";
  page.facts = {{"kind", "</script>"}};
  const std::string text = html(data_of(page));
  EXPECT_EQ(text.find("</script><!--"), std::string::npos);
  const json data = data_in(text);
  EXPECT_EQ(data["title"], "</script><!-- <b>\xEF\xBF\xBD.mtx");
  EXPECT_EQ(data["facts"][0][1], "</script>");
}

TEST(Page, TasksHaveTheIdsOfTheFile) {
  const Instance instance{drawn_plan(7), {}};
  PlanPage page = page_of(instance);
  const std::vector<std::int64_t> ids = {10, 20, 30};
  page.ids = ids;
  const json data = json::parse(data_of(page));
  EXPECT_EQ(data["peak"]["task"], 30);
  EXPECT_EQ(data["peak"]["main_holder"]["task"], 30);
  EXPECT_EQ(data["tree"]["rows"][0][2], 10);
  EXPECT_EQ(data["run"]["whole"]["lanes"][0]["bars"][3], 30);
}

TEST(Page, OfSizesNearTheLimitOfBytesAddsUp) {
  PlanOptions options;
  options.workers = 2;
  const Bytes huge = Bytes{1} << 61;
  const Instance instance{
      plan_of({Task{{}, 1, 0, 0, 1}, Task{TaskId{0}, huge, huge - 8, 0, 1}}, options),
      {}};
  const json data = json::parse(data_of(page_of(instance)));
  EXPECT_EQ(data["peak"]["bytes"], 2 * huge - 8);
  EXPECT_EQ(highest(data["run"]["whole"]), 2 * huge - 8);
}

TEST(Page, OfATreeWithoutWorkAndBytesIsDrawn) {
  PlanOptions options;
  options.workers = 3;
  const Instance instance{plan_of({Task{}, Task{TaskId{0}}}, options), {}};
  const json data = json::parse(data_of(page_of(instance)));
  EXPECT_EQ(data["figures"]["makespan_flops"], 0.0);
  EXPECT_EQ(data["tree"]["rows"].size(), 2U);
}

TEST(Page, OfManyTasksStaysSmall) {
  PlanOptions options;
  options.workers = 64;
  for (const support::Shape& shape : support::shapes()) {
    const Instance instance{plan_of(shape.make(50'000), options), {}};
    EXPECT_LT(html(data_of(page_of(instance))).size(), 3U << 20) << shape.name;
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::report
