#include "espalier/sharding/improve_pipeline.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "espalier/sharding/list_pipeline.h"
#include "espalier/sharding/named_pipelines.h"
#include "espalier/sharding/pipeline_words.h"
#include "espalier/sharding/round_pipeline.h"
#include "sharding/random_pipeline.h"

namespace espalier {
namespace TEST_SOURCE {

PipelineSchedule list_of(const Instance& instance, int window) {
  PipelineListRule rule;
  rule.memory.assign(static_cast<std::size_t>(instance.pipeline().devices()),
                     instance.bound.value_or(std::numeric_limits<Bytes>::max()));
  rule.window = window;
  return list_pipeline(instance.pipeline(), rule).value();
}

void expect_valid(const Instance& instance, const PipelineSchedule& schedule) {
  const Pipeline pipeline = instance.pipeline();
  const auto run = replay_pipeline(pipeline, schedule);
  ASSERT_TRUE(run) << instance;
  ASSERT_EQ(validate_pipeline(pipeline, schedule, *run), Violations{}) << instance;
  if (!instance.bound) return;
  for (const auto& device : run->devices)
    ASSERT_LE(device.peak_bytes, *instance.bound) << instance;
}

Instance any_instance(std::mt19937& random, int k) {
  const int p = 1 + static_cast<int>(random() % 4);
  return random_instance(random, p, p + static_cast<int>(random() % 5), 1 + k % 7);
}

TEST(PipelineWords, RunAsTheReplay) {
  std::mt19937 random(3);
  std::mt19937_64 chance(1);
  for (int k = 0; k < 300; ++k) {
    const Instance instance = any_instance(random, k);
    const PipelineSchedule schedule = list_of(instance, 1 + k % 5);
    const auto run = replay_pipeline(instance.pipeline(), schedule).value();
    for (const auto objective :
         {PipelineObjective::kMakespan, PipelineObjective::kSpan}) {
      PipelineWords words(instance.pipeline(), schedule, objective, instance.bound);
      const auto length = words.run();
      ASSERT_TRUE(length) << instance;
      EXPECT_EQ(length->longest, objective_value(run, objective)) << instance;
      EXPECT_EQ(words.schedule().orders, schedule.orders) << instance;
      for (std::size_t d = 0; d < words.devices(); ++d)
        EXPECT_TRUE(words.is_possible(d)) << instance;
      if (objective != PipelineObjective::kMakespan) continue;
      // A longest way has no gap: what it takes is the makespan, transfers aside.
      std::vector<PipelineWords::Place> way;
      words.longest_way(way, chance);
      Nanoseconds taken = 0;
      for (std::size_t i = 0; i < way.size(); ++i) {
        const auto& order = schedule.orders[way[i].device];
        taken += duration(instance.pipeline(), order[way[i].at]);
        if (i > 0 && way[i].device != way[i - 1].device) taken += instance.transfer;
      }
      EXPECT_EQ(taken, run.makespan) << instance;
    }
  }
}

TEST(PipelineWords, RefuseWhatWaitsForItselfOrHoldsTooMuch) {
  const Pipeline pipeline({{0, 1, 1, 1, 0, 1}, {1, 1, 1, 1, 0, 1}}, 2);
  const PipelineSchedule schedule =
      named_pipeline(pipeline, PipelineScheme::kZeroBubbleH1);
  PipelineWords words(pipeline, schedule, PipelineObjective::kMakespan, 2);
  ASSERT_TRUE(words.run());
  PipelineWords::Word& first = words.word(0);  // F F B W B W or so
  std::swap(first.front(), first.back());      // W before its B
  EXPECT_FALSE(words.is_possible(0));
  PipelineWords narrow(pipeline, schedule, PipelineObjective::kMakespan, 1);
  EXPECT_FALSE(narrow.is_possible(0));
}

TEST(ImprovePipeline, KeepsTheBoundAndIsNeverLonger) {
  std::mt19937 random(9);
  int shorter = 0;
  for (int k = 0; k < 200; ++k) {
    const Instance instance = any_instance(random, k);
    const PipelineSchedule start = list_of(instance, 1);
    for (const auto objective :
         {PipelineObjective::kMakespan, PipelineObjective::kSpan}) {
      const PipelineSchedule better = improve_pipeline(
          instance.pipeline(), start,
          {.memory_bound = instance.bound, .objective = objective, .replays = 300});
      expect_valid(instance, better);
      const auto value = [&](const PipelineSchedule& schedule) {
        return objective_value(replay_pipeline(instance.pipeline(), schedule).value(),
                               objective);
      };
      ASSERT_LE(value(better), value(start)) << instance;
      shorter += value(better) < value(start) ? 1 : 0;
    }
  }
  EXPECT_GT(shorter, 100);
}

// Seconds or milliseconds: the same schedule.
TEST(ImprovePipeline, TheUnitOfTimesPlaysNoPart) {
  std::mt19937 random(11);
  for (int k = 0; k < 60; ++k) {
    const Instance instance = any_instance(random, k);
    const PipelineSchedule start = list_of(instance, 1);
    const PipelineImprovementOptions options{.memory_bound = instance.bound,
                                             .replays = 200};
    const PipelineSchedule better = improve_pipeline(instance.pipeline(), start, options);
    for (const Nanoseconds times : {Nanoseconds{7}, Nanoseconds{1'000'000'000}}) {
      Instance other = instance;
      other.transfer *= times;
      for (PipelineChunk& chunk : other.chunks) {
        chunk.forward *= times;
        chunk.backward *= times;
        chunk.weight *= times;
      }
      EXPECT_EQ(improve_pipeline(other.pipeline(), start, options).orders, better.orders)
          << instance;
    }
  }
}

TEST(ImprovePipeline, EndsAtTheLowerBoundAndWhenToldTo) {
  const Pipeline pipeline({{0, 1, 1, 1, 0, 1}, {1, 1, 1, 1, 0, 1}}, 4);
  const PipelineSchedule start = named_pipeline(pipeline, PipelineScheme::kZeroBubbleH1);
  const auto same =
      improve_pipeline(pipeline, start, {.replays = 100, .stop = [] { return true; }});
  EXPECT_EQ(same.orders, start.orders);
  const Nanoseconds length = replay_pipeline(pipeline, start)->makespan;
  const auto bound =
      improve_pipeline(pipeline, start, {.replays = 100, .lower_bound = length});
  EXPECT_EQ(bound.orders, start.orders);
}

TEST(RoundPipeline, FindsSchedulesInsideTheBound) {
  std::mt19937 random(7);
  int found = 0;
  for (int k = 0; k < 400; ++k) {
    const Instance instance = any_instance(random, k);
    const Pipeline pipeline = instance.pipeline();
    PipelineRoundRule rule;
    rule.memory.assign(static_cast<std::size_t>(pipeline.devices()),
                       instance.bound.value_or(std::numeric_limits<Bytes>::max()));
    rule.backward_first = random() % 2 == 0;
    rule.leave_forwards = random() % 2 == 0;
    rule.warm_up = static_cast<WarmUp>(random() % 3);
    rule.before_forward = static_cast<PartlyFilled>(random() % 3);
    rule.before_backward = static_cast<PartlyFilled>(random() % 3);
    const auto rounds = round_pipeline(pipeline, rule);
    if (!rounds) continue;
    ++found;
    expect_valid(instance, rounds->schedule);
    // What each device waits is what the replay says.
    const auto run = replay_pipeline(pipeline, rounds->schedule).value();
    for (std::size_t d = 0; d < run.devices.size(); ++d)
      ASSERT_EQ(rounds->waits[d], run.devices[d].idle_inside()) << instance;
  }
  EXPECT_GT(found, 200);
}

TEST(RoundPipeline, MakesZeroBubbleSchedules) {
  const auto rounds_of = [](const Pipeline& pipeline, Bytes memory, bool backward_first) {
    PipelineRoundRule rule;
    rule.memory.assign(static_cast<std::size_t>(pipeline.devices()), memory);
    rule.backward_first = backward_first;
    return replay_pipeline(pipeline, round_pipeline(pipeline, rule)->schedule)->makespan;
  };
  for (int p = 2; p <= 8; ++p) {
    std::vector<PipelineChunk> chunks;
    for (int d = 0; d < p; ++d) chunks.push_back({d, 1, 1, 1, 0, 1});
    EXPECT_EQ(rounds_of(Pipeline(chunks, 3 * p), 2 * p - 1, false), 9 * p + p - 1) << p;
    for (int d = p; d-- > 0;) chunks.push_back({d, 1, 1, 1, 0, 1});
    EXPECT_EQ(rounds_of(Pipeline(chunks, 3 * p), 2 * p, true), 18 * p + p - 1) << p;
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier
