#include "espalier/report/pipeline_page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "espalier/model/error.h"

namespace espalier::report {
namespace TEST_SOURCE {

using nlohmann::json;

/// Two devices, so many micro-batches one after the other, a byte each.
struct Example {
  Pipeline pipeline;
  PipelineSchedule schedule;
  PipelineRun run;
  explicit Example(std::int32_t batches)
      : pipeline({{0, 1, 2, 0, 1, 0}, {1, 1, 2, 0, 1, 0}}, batches, 0, {100, 50}) {
    schedule.orders.resize(2);
    for (std::int32_t i = 0; i < batches; ++i) {
      for (std::int32_t c = 0; c < 2; ++c) {
        schedule.orders[static_cast<std::size_t>(c)].push_back(
            {PipelineKind::kForward, c, i});
        schedule.orders[static_cast<std::size_t>(c)].push_back(
            {PipelineKind::kBoth, c, i});
      }
    }
    run = *replay_pipeline(pipeline, schedule);
  }
  [[nodiscard]] PipelinePage page() const {
    PipelinePage page;
    page.pipeline = &pipeline;
    page.schedule = &schedule;
    page.run = &run;
    page.title = "two";
    page.name = "one by one";
    page.bound = 200;
    page.tables = {{"Plans", {"a", "b"}, {{"1", "2"}}}};
    return page;
  }
};

TEST(PipelinePage, ShowsEveryOperationAndWhatIsHeld) {
  const Example example(2);
  const json data = json::parse(data_of(example.page()));
  EXPECT_EQ(data["kind"], "pipeline");
  // kind, micro-batch, chunk, begin, end.
  EXPECT_EQ(data["lanes"][1], json({0, 0, 1, 1, 2, 3, 0, 1, 2, 4,  //
                                    0, 1, 1, 7, 8, 3, 1, 1, 8, 10}));
  EXPECT_DOUBLE_EQ(data["figures"]["makespan"], 12e-9);
  EXPECT_EQ(data["figures"]["bound_bytes"], 200);
  EXPECT_EQ(data["figures"]["devices"][0]["peak"], 101);
  EXPECT_EQ(data["tables"][0]["rows"][0][1], "2");
  // Device 1 holds a micro-batch from 1 to 4 and from 7 to 10, its own bytes to the end.
  const json& time = data["held"]["time"];
  const json& held = data["held"]["devices"][1];
  ASSERT_EQ(time.size(), held.size());
  for (std::size_t k = 0; k < time.size(); ++k) {
    const double at = time[k].get<double>() * 1e9 + 0.5;
    const bool busy = (at > 1 && at < 4) || (at > 7 && at < 10);
    EXPECT_EQ(held[k], busy ? 51 : 50) << at;
  }
}

TEST(PipelinePage, RefusesMoreOperationsThanCanBeDrawn) {
  const Example example(20'000);
  EXPECT_THROW((void)data_of(example.page()), InvalidInput);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::report
