// Tensor-parallel plans: enumeration, the general search, laws.

#include "espalier/sharding/shard_model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/model/validate_sharding.h"
#include "espalier/sharding/choose_strategies.h"
#include "sharding/enumerate.h"

namespace espalier {
namespace TEST_SOURCE {

using Random = std::mt19937_64;
constexpr Bytes kPlenty = Bytes{1} << 60;

ShardingSetting setting_of(const std::string& mesh, std::int64_t sequences) {
  ShardingSetting setting;
  setting.mesh = parse_mesh(mesh);
  setting.sequences = sequences;
  return setting;
}

// Operators of few ways with random costs, on one axis or two.
ShardedOperator random_operator(const ShardingSetting& setting, std::size_t most_ways,
                                std::uint64_t most_memory, Random& random) {
  ShardedOperator op{"op", std::int64_t(1 + random() % 4) * 1000, {}};
  const std::size_t count = 1 + random() % most_ways;
  const auto state = [&] {
    return MeshState(random() % std::uint64_t(state_count(setting.mesh)));
  };
  for (std::size_t w = 0; w < count; ++w)
    op.ways.push_back({state(), state(), Cost(random() % 100'000'000),
                       Bytes(random() % most_memory), "way"});
  return op;
}

ShardedModel random_model(std::size_t parts, std::size_t length, std::size_t most_ways,
                          std::uint64_t axes, std::uint64_t most_memory, Random& random) {
  ShardedModel model;
  model.setting = setting_of(axes == 1 ? "4" : "2x3", 6);
  for (std::size_t p = 0; p < parts; ++p) {
    ModelPart part;
    const std::size_t count = 1 + random() % 2;
    for (std::size_t k = 0; k < count; ++k)
      part.operators.push_back(
          random_operator(model.setting, most_ways, most_memory, random));
    part.residual = random() % 2 == 0;
    model.parts.push_back(std::move(part));
  }
  for (std::size_t k = 0; k < length; ++k)
    model.sequence.push_back(std::int32_t(random() % parts));
  return model;
}

std::string describe(const ShardedModel& model, Bytes limit) {
  std::string text = fmt::format("limit {}, sequence", limit);
  for (const std::int32_t number : model.sequence) text += fmt::format(" {}", number);
  for (const ModelPart& part : model.parts) {
    text += part.residual ? "\nresidual" : "\nchain";
    for (const ShardedOperator& op : part.operators)
      for (const OperatorWay& way : op.ways)
        text += fmt::format(" ({} {} {} {})", way.in, way.out, way.cost, way.memory);
  }
  return text;
}

// The cost of a plan's ways, sums and input placed as well as they can be.
void expect_true(const ShardedModel& model, const ModelShards& shards) {
  ASSERT_EQ(shards.ways.size(), model.sequence.size());
  ShardedModel only = model;
  only.parts.clear();
  Bytes memory = 0;
  for (std::size_t k = 0; k < model.sequence.size(); ++k) {
    ModelPart part = model.parts[std::size_t(model.sequence[k])];
    ASSERT_EQ(shards.ways[k].size(), part.operators.size());
    for (std::size_t i = 0; i < part.operators.size(); ++i) {
      const OperatorWay way = part.operators[i].ways[std::size_t(shards.ways[k][i])];
      memory += way.memory;
      part.operators[i].ways = {way};
    }
    only.sequence[k] = std::int32_t(k);
    only.parts.push_back(std::move(part));
  }
  EXPECT_EQ(memory, shards.memory_bytes);
  const ShardingChoice placed = choose_strategies(problem_of(only, kPlenty));
  ASSERT_TRUE(placed.proved());
  EXPECT_EQ(placed.cost, shards.cost) << describe(model, 0);
}

TEST(ShardModel, MatchesEnumerationAndTheGeneralSearchFoldedOrNot) {
  Random random(1);
  for (int round = 0; round < 600; ++round) {
    const ShardedModel model =
        random_model(1 + random() % 3, 1 + random() % 3, 2, 1 + random() % 2, 50, random);
    const Bytes limit = random() % 3 == 0 ? kPlenty : Bytes(random() % 160);
    const ShardingProblem problem = problem_of(model, limit);
    const ShardingChoice choice = choose_strategies(problem);
    ASSERT_TRUE(choice.proved());
    if (problem.nodes().size() < 8 && model.setting.mesh.axes.size() == 1) {
      const std::optional<Cost> least = enumerate(problem);
      ASSERT_EQ(choice.found, least.has_value());
      ASSERT_EQ(choice.cost, least.value_or(choice.cost));
    }
    for (const bool fold : {true, false}) {
      const ModelShards shards = shard_model(model, limit, fold);
      ASSERT_EQ(shards.found, choice.found) << describe(model, limit);
      if (!shards.found) continue;
      ASSERT_EQ(shards.cost, choice.cost) << describe(model, limit);
      ASSERT_EQ(shards.lower_bound, choice.cost) << describe(model, limit);
      ASSERT_LE(shards.memory_bytes, limit);
      ASSERT_NO_FATAL_FAILURE(expect_true(model, shards));
    }
  }
}

// So that plans which are put together from others cost the same.
void make_costs_alike(ShardedModel& model) {
  for (ModelPart& part : model.parts)
    for (ShardedOperator& op : part.operators)
      for (OperatorWay& way : op.ways) way.cost = way.cost % 4 * 10'000'000;
}

TEST(ShardModel, FoldingNeverChangesTheOptimumOfLongModels) {
  Random random(2);
  for (int round = 0; round < 60; ++round) {
    // Of so little memory that no front has to be thinned.
    ShardedModel model = random_model(2, 2, 4, 1, 6, random);
    if (round % 2 == 1) make_costs_alike(model);
    const std::vector<std::int32_t> block = model.sequence;
    for (std::uint64_t k = random() % 20; k > 0; --k)
      model.sequence.insert(model.sequence.end(), block.begin(), block.end());
    const ModelShards fastest = shard_model(model, kPlenty);
    ASSERT_TRUE(fastest.proved());
    const Bytes limit = fastest.memory_bytes - fastest.memory_bytes / 10;
    const ModelShards folded = shard_model(model, limit);
    const ModelShards plain = shard_model(model, limit, false);
    ASSERT_EQ(folded.found, plain.found) << describe(model, limit);
    ASSERT_EQ(folded.cost, plain.cost) << describe(model, limit);
    ASSERT_EQ(folded.lower_bound, plain.lower_bound) << describe(model, limit);
    if (!folded.found) continue;
    ASSERT_NO_FATAL_FAILURE(expect_true(model, folded));
  }
}

// h -> 4h -> h on one axis, batch split at both ends, no latency.
std::vector<std::string> ways_of_perceptron(std::int64_t width, std::int64_t tokens) {
  ShardedModel model;
  model.setting = setting_of("8", tokens);
  model.setting.mesh.axes[0].link.latency = 0;
  model.setting.flops_a_second = 1e9;  // nobody computes the whole
  const auto end = [&] {
    ShardedOperator op = local_operator(model.setting, "end", width, 0, 0);
    std::erase_if(op.ways, [](const OperatorWay& way) { return way.in != 1; });
    return op;
  };
  model.parts = {{{end(), linear_operator(model.setting, "expand", width, 4 * width),
                   linear_operator(model.setting, "contract", 4 * width, width), end()},
                  false}};
  model.sequence = {0};
  const ModelShards shards = shard_model(model, kPlenty);
  std::vector<std::string> names;
  for (const std::size_t k : {1u, 2u})
    names.push_back(
        model.parts[0].operators[k].ways[std::size_t(shards.ways[0][k])].name);
  return names;
}

TEST(ShardModel, MegatronCrossesDataParallelAtFourTimesTheWidth) {
  using Names = std::vector<std::string>;
  for (const std::int64_t width : {64, 1024}) {
    EXPECT_EQ(ways_of_perceptron(width, 4 * width - 8),
              (Names{"column-gather", "row-scatter"}));
    EXPECT_EQ(ways_of_perceptron(width, 4 * width + 8), (Names{"data", "data"}));
  }
}

TEST(ShardModel, CollectivesCostWhatRingsDo) {
  const Link link{.latency = 1, .bandwidth = 0.5};
  EXPECT_DOUBLE_EQ(all_reduce_time(8, 4, link), 6 + 2 * 0.75 * 8 * 2);
  EXPECT_DOUBLE_EQ(all_gather_time(8, 4, link), 3 + 0.75 * 8 * 2);
  EXPECT_DOUBLE_EQ(all_to_all_time(8, 4, link), 3 + 3.0 / 16 * 8 * 2);
  EXPECT_DOUBLE_EQ(all_reduce_time(8, 1, link), 0);
}

TEST(ShardModel, NeverSlowerWithMoreMemoryAndNeverBeyondIt) {
  const Transformer small{
      .layers = 6, .width = 256, .heads = 4, .vocabulary = 1000, .tokens_a_sequence = 64};
  const ShardedModel model = sharded_transformer(small, setting_of("4x2", 16));
  const ModelShards fastest = shard_model(model, kPlenty);
  ASSERT_TRUE(fastest.proved());
  const ModelShards none = shard_model(model, 1);
  EXPECT_FALSE(none.found);
  Cost before = kForbidden;
  for (int k = 0; k <= 8; ++k) {
    const Bytes limit = none.least_memory_bytes +
                        (fastest.memory_bytes - none.least_memory_bytes) * k / 8;
    const ModelShards shards = shard_model(model, limit);
    ASSERT_TRUE(shards.found) << limit;
    EXPECT_LE(shards.memory_bytes, limit);
    EXPECT_LE(shards.lower_bound, shards.cost);
    EXPECT_LE(shards.cost, before);
    before = shards.cost;
    expect_true(model, shards);
  }
  EXPECT_EQ(before, fastest.cost);
}

TEST(ShardModel, ProvesDeepModelsUnderABindingLimit) {
  Transformer gpt = transformer_named("gpt2");
  for (const double part : {0.1, 0.4, 0.8}) {
    for (const std::int64_t layers : {12, 24, 96}) {
      gpt.layers = layers;
      const ShardedModel model = sharded_transformer(gpt, setting_of("4x4", 64));
      const Bytes least = shard_model(model, 1).least_memory_bytes;
      const Bytes most = shard_model(model, kPlenty).memory_bytes;
      const Bytes limit = least + static_cast<Bytes>(part * double(most - least));
      const ModelShards shards = shard_model(model, limit);
      ASSERT_TRUE(shards.proved()) << part << ' ' << layers;
      if (layers > 12) continue;
      EXPECT_EQ(shard_model(model, limit, false).cost, shards.cost) << part;
    }
  }
}

TEST(ShardModel, SaysTheLeastThatAnyPlanHolds) {
  Random random(5);
  for (int round = 0; round < 100; ++round) {
    const ShardedModel model = random_model(2, 3, 3, 1, 50, random);
    Bytes least = 0;
    for (const std::int32_t number : model.sequence)
      for (const ShardedOperator& op : model.parts[std::size_t(number)].operators)
        least += std::ranges::min(op.ways, {}, &OperatorWay::memory).memory;
    if (least == 0) continue;
    const ModelShards none = shard_model(model, least - 1);
    ASSERT_FALSE(none.found);
    ASSERT_EQ(none.least_memory_bytes, least) << describe(model, least - 1);
    ASSERT_TRUE(shard_model(model, least).found) << describe(model, least);
  }
}

TEST(ShardModel, RefusesWhatIsNoMeshOrTransformer) {
  EXPECT_EQ(parse_mesh("8x1x4").devices(), 32);
  EXPECT_EQ(parse_mesh("1").axes.size(), 0u);
  for (const char* text : {"", "x", "8x", "0", "-2", "8 x 8", "2x2x2x2x2", "99999999",
                           "1024x1025", "99999999999"})
    EXPECT_THROW((void)parse_mesh(text), InvalidInput) << text;
  EXPECT_THROW((void)transformer_named("gpt"), InvalidInput);
  EXPECT_THROW((void)sharded_transformer({.layers = 0}, setting_of("2", 1)),
               InvalidInput);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
