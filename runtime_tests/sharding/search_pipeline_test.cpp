#include "espalier/sharding/search_pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>

#include "espalier/sharding/list_pipeline.h"
#include "espalier/sharding/named_pipelines.h"
#include "sharding/random_pipeline.h"

namespace espalier {
namespace TEST_SOURCE {

/// The shortest schedule, by trying all orders: at each decision any device runs any of
/// its operations whose predecessors are done, as soon as they have arrived. Knows
/// nothing of the library but the question.
class Exhaustive {
 public:
  explicit Exhaustive(const Instance& instance)
      : instance_(instance),
        end_(3 * instance.chunks.size() * static_cast<std::size_t>(instance.m), -1),
        free_(8, 0),
        held_(8, 0) {}
  Nanoseconds makespan() {
    descend(0);
    return best_;
  }

 private:
  std::size_t at(int part, std::size_t c, int i) const {
    return (static_cast<std::size_t>(part) * instance_.chunks.size() + c) *
               static_cast<std::size_t>(instance_.m) +
           static_cast<std::size_t>(i);
  }
  Nanoseconds moved(std::size_t a, std::size_t b) const {
    return instance_.chunks[a].device == instance_.chunks[b].device ? 0
                                                                    : instance_.transfer;
  }
  Nanoseconds ready(int part, std::size_t c, int i) const {
    std::vector<std::pair<std::size_t, Nanoseconds>> needs;
    if (part == 0 && c > 0) needs.push_back({at(0, c - 1, i), moved(c - 1, c)});
    if (part == 1) needs.push_back({at(0, c, i), 0});
    if (part == 1 && c + 1 < instance_.chunks.size())
      needs.push_back({at(1, c + 1, i), moved(c + 1, c)});
    if (part == 2) needs.push_back({at(1, c, i), 0});
    Nanoseconds time = 0;
    for (const auto& [cell, more] : needs) {
      if (end_[cell] < 0) return -1;
      time = std::max(time, end_[cell] + more);
    }
    return time;
  }
  void descend(std::size_t done) {
    const Nanoseconds now = *std::max_element(free_.begin(), free_.end());
    if (now >= best_) return;
    if (done == end_.size()) {
      best_ = now;
      return;
    }
    if (!seen_.insert(end_).second) return;
    for (std::size_t c = 0; c < instance_.chunks.size(); ++c) {
      const PipelineChunk& chunk = instance_.chunks[c];
      const auto d = static_cast<std::size_t>(chunk.device);
      for (int part = 0; part < 3; ++part) {
        for (int i = 0; i < instance_.m; ++i) {
          if (end_[at(part, c, i)] >= 0) continue;
          const Nanoseconds there = ready(part, c, i);
          if (there < 0) continue;
          const Bytes more = part == 0   ? chunk.until_backward + chunk.until_weight
                             : part == 1 ? -chunk.until_backward
                                         : -chunk.until_weight;
          if (instance_.bound && held_[d] + std::max<Bytes>(more, 0) > *instance_.bound)
            continue;
          const Nanoseconds before = free_[d];
          const Nanoseconds costs[] = {chunk.forward, chunk.backward, chunk.weight};
          free_[d] = std::max(before, there) + costs[part];
          end_[at(part, c, i)] = free_[d];
          held_[d] += more;
          descend(done + 1);
          held_[d] -= more;
          end_[at(part, c, i)] = -1;
          free_[d] = before;
          if (part != 2) break;  // micro-batches of a chunk are alike: in order
        }
      }
    }
  }
  const Instance& instance_;
  std::vector<Nanoseconds> end_, free_;
  std::vector<Bytes> held_;
  std::set<std::vector<Nanoseconds>> seen_;
  Nanoseconds best_ = std::numeric_limits<Nanoseconds>::max();
};

void check(const Instance& instance, const PipelineAnswer& answer) {
  const Pipeline pipeline = instance.pipeline();
  ASSERT_EQ(validate_pipeline(pipeline, answer.schedule, answer.run), Violations{})
      << instance;
  ASSERT_GE(answer.value, answer.lower_bound) << instance;
  ASSERT_EQ(answer.value, answer.run.makespan) << instance;
  if (!instance.bound) return;
  for (const auto& device : answer.run.devices)
    ASSERT_LE(device.peak_bytes, *instance.bound) << instance;
}

TEST(SearchPipeline, IsNeverBelowExhaustiveSearch) {
  std::mt19937 random(5);
  int optimal = 0, all = 0;
  for (int k = 0; k < 1000; ++k) {
    const int p = 1 + static_cast<int>(random() % 2);
    const int chunks = p + static_cast<int>(random() % 2);
    const Instance instance = random_instance(random, p, chunks, chunks > 2 ? 1 : 2);
    const auto answer = search_pipeline(instance.pipeline(),
                                        {.memory_bound = instance.bound, .replays = 400});
    ASSERT_TRUE(answer) << instance;
    check(instance, *answer);
    const Nanoseconds least = Exhaustive(instance).makespan();
    ASSERT_LE(answer->lower_bound, least) << instance;
    ASSERT_GE(answer->value, least) << instance;
    ++all;
    optimal += answer->value == least ? 1 : 0;
  }
  EXPECT_GE(optimal * 100, all * 95);
}

/// p devices with one chunk each, or two that lie as those of ZB-V; all takes one unit,
/// and a micro-batch holds one until W.
Pipeline unit_pipeline(int p, bool folded) {
  std::vector<PipelineChunk> chunks;
  for (int d = 0; d < p; ++d) chunks.push_back({d, 1, 1, 1, 0, 1});
  for (int d = folded ? p : 0; d-- > 0;) chunks.push_back({d, 1, 1, 1, 0, 1});
  return Pipeline(chunks, 3 * p);
}

// Lengths of ZB-H1, ZB-H2 and ZB-V in their memory: also where the search does not begin
// with them.
TEST(SearchPipeline, FindsTheZeroBubbleSchedules) {
  for (int p = 2; p <= 8; ++p) {
    for (const bool named : {true, false}) {
      const auto narrow =
          search_pipeline(unit_pipeline(p, false), {.memory_bound = p, .named = named});
      ASSERT_TRUE(narrow);
      EXPECT_LE(narrow->value, 9 * p + p - 1) << p << named;
      const auto wide =
          search_pipeline(unit_pipeline(p, false), {.memory_bound = 2 * p - 1,
                                                    .objective = PipelineObjective::kSpan,
                                                    .named = named});
      ASSERT_TRUE(wide);
      EXPECT_EQ(wide->value, 9 * p) << p << named;
      EXPECT_TRUE(wide->proved());
      const auto folded = search_pipeline(unit_pipeline(p, true),
                                          {.memory_bound = 2 * p, .named = named});
      ASSERT_TRUE(folded);
      EXPECT_EQ(folded->value, 18 * p + p - 1) << p << named;
    }
  }
}

TEST(SearchPipeline, IsNeverWorseWithMoreMemory) {
  std::mt19937 random(11);
  for (int k = 0; k < 20; ++k) {
    Instance instance = random_instance(random, 3, 3, 6);
    instance.bound = std::nullopt;
    const auto free = search_pipeline(instance.pipeline(), {.replays = 300});
    ASSERT_TRUE(free);
    check(instance, *free);
    instance.bound = 1 << 20;
    const auto same = search_pipeline(instance.pipeline(),
                                      {.memory_bound = instance.bound, .replays = 300});
    ASSERT_TRUE(same);
    EXPECT_EQ(same->value, free->value) << instance;
  }
}

TEST(SearchPipeline, RefusesLessThanOneMicroBatch) {
  const Pipeline pipeline({{0, 1, 1, 1, 3, 4}, {1, 1, 1, 1, 1, 1}}, 4, 0, {10, 30});
  const auto refused = search_pipeline(pipeline, {.memory_bound = 31});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().least_bytes, 32);
  EXPECT_EQ(refused.error().lower_bound_bytes, 32);
  EXPECT_TRUE(search_pipeline(pipeline, {.memory_bound = 32}));
}

TEST(ListPipeline, EndsInsideAnyBoundThatHoldsOneMicroBatch) {
  std::mt19937 random(7);
  for (int k = 0; k < 400; ++k) {
    const int p = 1 + static_cast<int>(random() % 4);
    const Instance instance =
        random_instance(random, p, p + static_cast<int>(random() % 5), 1 + k % 7);
    const Pipeline pipeline = instance.pipeline();
    PipelineListRule rule;
    rule.memory.assign(static_cast<std::size_t>(p),
                       instance.bound.value_or(std::numeric_limits<Bytes>::max()));
    rule.window = 1 + static_cast<int>(random() % 8);
    rule.forward_first = random() % 2 == 0;
    rule.weights_at_once = random() % 2 == 0;
    const PipelineSchedule schedule = list_pipeline(pipeline, rule).value();
    const auto run = replay_pipeline(pipeline, schedule);
    ASSERT_TRUE(run) << instance;
    ASSERT_EQ(validate_pipeline(pipeline, schedule, *run), Violations{}) << instance;
    for (std::size_t d = 0; d < run->devices.size(); ++d)
      ASSERT_LE(run->devices[d].peak_bytes, rule.memory[d]) << instance;
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier
