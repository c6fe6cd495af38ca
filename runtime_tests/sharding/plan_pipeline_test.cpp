#include "espalier/sharding/plan_pipeline.h"

#include <gtest/gtest.h>

#include "espalier/model/error.h"

namespace espalier {
namespace TEST_SOURCE {

using enum PipelineScheme;

TEST(PlanPipeline, NamesFormsAndReadsThemBack) {
  for (const char* text : {"gpipe", "1f1b", "interleaved:2", "interleaved:5", "zb-h1",
                           "zb-h2", "zb-v", "search", "search:2"}) {
    const auto form = parse_pipeline_form(text);
    ASSERT_TRUE(form) << text;
    EXPECT_EQ(describe(*form), text);
  }
  EXPECT_EQ(describe(*parse_pipeline_form("interleaved")), "interleaved:2");
  for (const char* text : {"", "zb", "1f1b:2", "interleaved:0", "interleaved:x",
                           "search:3", "zb-v:2", "interleaved:2x", "interleaved:"})
    EXPECT_FALSE(parse_pipeline_form(text)) << text;
}

TEST(PlanPipeline, DividesStagesEvenlyAndToTheLastNanosecond) {
  const std::vector<PipelineStage> stages = {{10, 11, 12, 5, 7, 100}, {1, 2, 3, 0, 1, 9}};
  const Pipeline pipeline = pipeline_of(stages, {kInterleaved, 3}, 4, 1);
  ASSERT_EQ(pipeline.chunks(), 6);
  for (std::int32_t d = 0; d < 2; ++d) {
    PipelineStage sum{0, 0, 0, 0, 0, 0};
    for (std::int32_t c = 0; c < 6; ++c) {
      const PipelineChunk& chunk = pipeline.chunk(c);
      EXPECT_EQ(chunk.device, c % 2);
      if (chunk.device != d) continue;
      sum.forward += chunk.forward;
      sum.backward += chunk.backward;
      sum.weight += chunk.weight;
      sum.until_backward += chunk.until_backward;
      sum.until_weight += chunk.until_weight;
      EXPECT_LE(std::abs(3 * chunk.forward - stages[d].forward), 3);
    }
    EXPECT_EQ(sum.forward, stages[d].forward);
    EXPECT_EQ(sum.backward, stages[d].backward);
    EXPECT_EQ(sum.weight, stages[d].weight);
    EXPECT_EQ(sum.until_backward, stages[d].until_backward);
    EXPECT_EQ(sum.until_weight, stages[d].until_weight);
    EXPECT_EQ(pipeline.persistent(d), stages[d].persistent);
  }
}

TEST(PlanPipeline, GivesTheFormulasForUnitCosts) {
  const std::vector<PipelineStage> stages(4, {2, 2, 2, 0, 2, 0});
  const auto plan = [&](const char* form) {
    return *plan_pipeline(stages, *parse_pipeline_form(form), 8, 0, {});
  };
  EXPECT_EQ(plan("gpipe").run.makespan, 48 + 18);
  EXPECT_EQ(plan("1f1b").run.makespan, 48 + 18);
  EXPECT_EQ(plan("interleaved:2").run.makespan, 48 + 9);
  EXPECT_EQ(plan("zb-h1").run.makespan, 48 + 6);
  EXPECT_EQ(plan("zb-v").run.makespan, 48 + 3);
  EXPECT_DOUBLE_EQ(plan("1f1b").idle_fraction(), 18.0 / 66);
  EXPECT_EQ(plan("gpipe").peak_bytes(), 16);
  EXPECT_EQ(plan("1f1b").peak_bytes(), 8);
}

TEST(PlanPipeline, SearchesInsideTheBound) {
  const std::vector<PipelineStage> stages(4, {1, 1, 1, 0, 1, 0});
  PipelineSearchOptions options;
  options.memory_bound = 4;
  const auto found = plan_pipeline(stages, {std::nullopt, 1}, 8, 0, options);
  ASSERT_TRUE(found);
  EXPECT_LE(found->peak_bytes(), 4);
  EXPECT_EQ(found->value, 24 + 3);  // that of zb-h1
  options.memory_bound = 0;
  const auto none = plan_pipeline(stages, {std::nullopt, 1}, 8, 0, options);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().least_bytes, 1);
  // A named schedule is what it is.
  EXPECT_EQ(plan_pipeline(stages, {kGpipe, 1}, 8, 0, options)->peak_bytes(), 8);
}

TEST(PlanPipeline, HoldsWhatItsPeakIsMadeOf) {
  const std::vector<PipelineStage> stages = {{3, 2, 1, 4, 2, 50}, {1, 5, 2, 1, 1, 7}};
  for (const PipelineForm& form : pipeline_forms(2, 6)) {
    const auto plan = *plan_pipeline(stages, form, 6, 1, {});
    const auto held = pipeline_memory(plan.pipeline, plan.schedule, plan.run);
    for (std::size_t d = 0; d < 2; ++d) {
      Bytes most = 0;
      Nanoseconds last = 0;
      for (const PipelineHolding& moment : held[d]) {
        most = std::max(most, moment.bytes);
        EXPECT_GE(moment.time, last) << describe(form);
        last = moment.time;
      }
      EXPECT_EQ(most, plan.run.devices[d].peak_bytes) << describe(form);
      EXPECT_EQ(held[d].back().bytes, stages[d].persistent) << describe(form);
    }
  }
}

TEST(PlanPipeline, RefusesBadQuestions) {
  EXPECT_THROW((void)plan_pipeline({}, {kGpipe, 1}, 8, 0, {}), InvalidInput);
  const std::vector<PipelineStage> stages(3);
  EXPECT_THROW((void)plan_pipeline(stages, {kGpipe, 1}, 0, 0, {}), InvalidInput);
  EXPECT_THROW((void)plan_pipeline(stages, {kInterleaved, 2}, 8, 0, {}), InvalidInput);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
