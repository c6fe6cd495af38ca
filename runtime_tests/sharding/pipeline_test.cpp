#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "espalier/model/error.h"
#include "espalier/model/replay_pipeline.h"
#include "espalier/sharding/named_pipelines.h"
#include "support/error_message.h"

namespace espalier {
namespace TEST_SOURCE {

using enum PipelineKind;
using enum PipelineScheme;

/// Every chunk of every device alike, a byte from F to W each.
Pipeline unit_pipeline(PipelineScheme scheme, int p, int m, int v = 1,
                       PipelineChunk costs = {0, 1, 1, 1, 0, 1}) {
  std::vector<PipelineChunk> chunks;
  for (const std::int32_t device : chunk_devices(scheme, p, v)) {
    chunks.push_back(costs);
    chunks.back().device = device;
  }
  return Pipeline(chunks, m);
}

PipelineRun run_named(const Pipeline& pipeline, PipelineScheme scheme) {
  const PipelineSchedule schedule = named_pipeline(pipeline, scheme);
  const auto run = replay_pipeline(pipeline, schedule);
  EXPECT_TRUE(run.has_value()) << name(scheme);
  if (!run) return {};
  EXPECT_EQ(validate_pipeline(pipeline, schedule, *run), Violations{});
  return *run;
}

TEST(PipelineReplay, IsThatOfAHandCheckedExample) {
  // Two devices, two micro-batches, f = 1, b = 2, w = 1, one operator for b and w.
  const Pipeline pipeline({{0, 1, 2, 1, 3, 4}, {1, 1, 2, 1, 3, 4}}, 2, 1, {10, 20});
  const PipelineSchedule schedule{
      {{{kForward, 0, 0}, {kForward, 0, 1}, {kBoth, 0, 0}, {kBoth, 0, 1}},
       {{kForward, 1, 0}, {kBoth, 1, 0}, {kForward, 1, 1}, {kBoth, 1, 1}}}};
  const auto run = replay_pipeline(pipeline, schedule);
  ASSERT_TRUE(run);
  // Device 1: F 2-3, BW 3-6, F 6-7, BW 7-10; the gradients arrive at 7 and 11.
  EXPECT_EQ(run->starts[0], (std::vector<Nanoseconds>{0, 1, 7, 11}));
  EXPECT_EQ(run->starts[1], (std::vector<Nanoseconds>{2, 3, 6, 7}));
  EXPECT_EQ(run->makespan, 14);
  EXPECT_EQ(run->devices[0].peak_bytes, 10 + 2 * 7);
  EXPECT_EQ(run->devices[1].peak_bytes, 20 + 7);
  EXPECT_EQ(run->devices[0].busy, 8);
  EXPECT_EQ(run->devices[0].idle(run->makespan), 6);
  EXPECT_EQ(run->devices[1].idle_inside(), 0);
  EXPECT_EQ(validate_pipeline(pipeline, schedule, *run), Violations{});
}

TEST(PipelineReplay, FreesInputsAfterTheInputGradientAndTheRestAfterTheWeights) {
  const Pipeline pipeline({{0, 1, 1, 1, 3, 4}}, 2);
  const PipelineSchedule schedule{{{{kForward, 0, 0},
                                    {kBackward, 0, 0},
                                    {kForward, 0, 1},
                                    {kWeight, 0, 0},
                                    {kBackward, 0, 1},
                                    {kWeight, 0, 1}}}};
  const auto run = replay_pipeline(pipeline, schedule);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->devices[0].peak_bytes, 4 + 7);
  EXPECT_EQ(validate_pipeline(pipeline, schedule, *run), Violations{});
}

TEST(PipelineReplay, SaysThatOrdersWaitInACircle) {
  const Pipeline pipeline({{0}, {1}}, 1);
  const PipelineSchedule circle{
      {{{kBoth, 0, 0}, {kForward, 0, 0}}, {{kForward, 1, 0}, {kBoth, 1, 0}}}};
  EXPECT_FALSE(replay_pipeline(pipeline, circle));
}

TEST(PipelineReplay, RefusesOrdersThatAreNotOfThePipeline) {
  const Pipeline pipeline({{0}, {1}}, 1);
  const auto refused = [&](std::vector<PipelineOperation> first,
                           std::vector<PipelineOperation> second) {
    EXPECT_THROW((void)replay_pipeline(pipeline, {{first, second}}), InvalidInput);
  };
  refused({{kForward, 0, 0}}, {{kForward, 1, 0}, {kBoth, 1, 0}});
  refused({{kForward, 0, 0}, {kBoth, 0, 0}, {kWeight, 0, 0}},
          {{kForward, 1, 0}, {kBoth, 1, 0}});
  refused({{kForward, 1, 0}, {kBoth, 0, 0}}, {{kForward, 0, 0}, {kBoth, 1, 0}});
  refused({{kForward, 0, 1}, {kBoth, 0, 0}}, {{kForward, 1, 0}, {kBoth, 1, 0}});
}

TEST(PipelineReplay, RefusesBadQuestions) {
  EXPECT_THROW(Pipeline({}, 1), InvalidInput);
  EXPECT_THROW(Pipeline({{0}}, 0), InvalidInput);
  EXPECT_THROW(Pipeline({{1}}, 1), InvalidInput);  // device 0 has nothing
  EXPECT_THROW(Pipeline({{0, -1}}, 1), InvalidInput);
  EXPECT_THROW(Pipeline({{0, 1, 1, 1, -1}}, 1), InvalidInput);
  EXPECT_THROW(Pipeline({{0}}, 1, -1), InvalidInput);
  EXPECT_THROW(Pipeline({{0}}, 1, 0, {0, 0}), InvalidInput);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(
      support::error_message<OverflowError>([&] {
        Pipeline({{0, 1}, {0, most}}, 2);
      }),
      "chunk 1 of the pipeline: with 9223372036854775807, 2 times, the sum of all such "
      "leaves the 64-bit range");
  EXPECT_THROW(Pipeline({{0, 1, 1, 1, most / 2, most / 2}}, 2), OverflowError);
}

TEST(PipelineValidator, SeesEveryCorruption) {
  const Pipeline pipeline = unit_pipeline(kZeroBubbleH1, 3, 5);
  const PipelineSchedule schedule = named_pipeline(pipeline, kZeroBubbleH1);
  const PipelineRun run = *replay_pipeline(pipeline, schedule);
  const auto seen = [&](auto change) {
    PipelineSchedule other = schedule;
    PipelineRun wrong = run;
    change(other, wrong);
    EXPECT_FALSE(validate_pipeline(pipeline, other, wrong).empty());
  };
  seen([](auto&, PipelineRun& r) { ++r.makespan; });
  seen([](auto&, PipelineRun& r) { --r.starts[1][0]; });
  seen([](auto&, PipelineRun& r) { --r.starts[0][4]; });
  seen([](auto&, PipelineRun& r) { --r.devices[2].peak_bytes; });
  seen([](auto&, PipelineRun& r) { --r.devices[2].busy; });
  seen([](auto&, PipelineRun& r) { r.starts.pop_back(); });
  seen([](PipelineSchedule& s, PipelineRun& r) {
    s.orders[0].pop_back();
    r.starts[0].pop_back();
  });
  seen([](PipelineSchedule& s, auto&) { s.orders[0][0] = s.orders[0][1]; });
}

TEST(NamedPipelines, WaitAndHoldWhatTheFormulasSay) {
  for (int p = 2; p <= 8; ++p) {
    for (int m = 1; m <= 32; ++m) {
      SCOPED_TRACE(testing::Message() << "p " << p << ", m " << m);
      for (const PipelineScheme scheme : {kGpipe, kOneForwardOneBackward}) {
        const PipelineRun run = run_named(unit_pipeline(scheme, p, m), scheme);
        EXPECT_EQ(run.makespan - 3 * m, (p - 1) * 3) << name(scheme);
        for (int s = 0; s < p; ++s)
          EXPECT_EQ(run.devices[s].peak_bytes, scheme == kGpipe ? m : std::min(p - s, m));
      }
      if (m < p) continue;
      const PipelineRun h1 = run_named(unit_pipeline(kZeroBubbleH1, p, m), kZeroBubbleH1);
      EXPECT_EQ(h1.makespan - 3 * m, p - 1);
      for (const auto& device : h1.devices) EXPECT_EQ(device.peak_bytes, p);
      if (m < 2 * p - 1) continue;
      const PipelineRun h2 = run_named(unit_pipeline(kZeroBubbleH2, p, m), kZeroBubbleH2);
      const PipelineRun zv =
          run_named(unit_pipeline(kZeroBubbleV, p, m, 2), kZeroBubbleV);
      for (int s = 0; s < p; ++s) {
        EXPECT_EQ(h2.devices[s].idle_inside(), 0);
        EXPECT_LE(h2.devices[s].peak_bytes, 2 * p - 1);
        EXPECT_EQ(zv.devices[s].idle_inside(), 0);
        EXPECT_EQ(zv.devices[s].peak_bytes, 2 * p);
      }
      EXPECT_EQ(h2.devices[0].peak_bytes, 2 * p - 1);
      EXPECT_EQ(zv.makespan - 6 * m, p - 1);  // the ramp, in units of a half stage
    }
  }
}

TEST(NamedPipelines, InterleavesWhatTheFormulasSay) {
  for (int p = 2; p <= 8; ++p) {
    for (int v = 1; v <= 4; ++v) {
      for (int m = p; m <= 32; m += p) {
        SCOPED_TRACE(testing::Message() << "p " << p << ", v " << v << ", m " << m);
        const PipelineRun run =
            run_named(unit_pipeline(kInterleaved, p, m, v), kInterleaved);
        // Costs of a chunk are the v-th part of a device's.
        EXPECT_EQ(run.makespan - 3 * m * v, (p - 1) * 3);
        for (int s = 0; s < p; ++s)
          EXPECT_EQ(run.devices[s].peak_bytes,
                    std::min(2 * (p - s - 1) + (v - 1) * p + 1, m * v));
      }
    }
  }
}

TEST(NamedPipelines, EndForAnyCountOfMicroBatches) {
  for (int p = 1; p <= 8; ++p)
    for (int m = 1; m <= 20; ++m)
      for (const PipelineScheme scheme :
           {kGpipe, kOneForwardOneBackward, kZeroBubbleH1, kZeroBubbleH2, kZeroBubbleV})
        run_named(unit_pipeline(scheme, p, m, scheme == kZeroBubbleV ? 2 : 1,
                                {0, 2, 3, 1, 1, 1}),
                  scheme);
}

TEST(NamedPipelines, RefusesChunksThatLieElsewhere) {
  EXPECT_THROW((void)named_pipeline(unit_pipeline(kZeroBubbleV, 3, 4, 2), kGpipe),
               InvalidInput);
  EXPECT_THROW((void)named_pipeline(unit_pipeline(kInterleaved, 3, 4, 2), kZeroBubbleV),
               InvalidInput);
  EXPECT_THROW((void)named_pipeline(unit_pipeline(kInterleaved, 3, 4, 2), kInterleaved),
               InvalidInput);  // 3 does not divide 4
}

TEST(NamedPipelines, HaveNames) {
  for (const PipelineScheme scheme : {kGpipe, kOneForwardOneBackward, kInterleaved,
                                      kZeroBubbleH1, kZeroBubbleH2, kZeroBubbleV})
    EXPECT_EQ(parse_pipeline_scheme(name(scheme)), scheme);
  EXPECT_FALSE(parse_pipeline_scheme("zb"));
}

}  // namespace TEST_SOURCE
}  // namespace espalier
