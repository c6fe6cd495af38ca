// Operators of a model with their ways to be computed on a mesh.

#include "espalier/sharding/shard_operators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/sharding/choose_strategies.h"
#include "espalier/sharding/shard_model.h"
#include "sharding/enumerate.h"

namespace espalier {
namespace TEST_SOURCE {

constexpr Bytes kPlenty = Bytes{1} << 60;
const DeviceFigures kDevice{1e12, 4, 16};

class Net {
 public:
  TensorId input(const Shape& shape) { return add("x", shape, TensorRole::kInput); }
  TensorId weight(const Shape& shape) { return add("w", shape, TensorRole::kParameter); }
  TensorId op(const std::string& type, std::vector<std::optional<TensorId>> inputs,
              const Shape& shape,
              std::map<std::string, AttributeValue, std::less<>> attributes = {}) {
    const TensorId result = add("t", shape, TensorRole::kComputed);
    Operator made;
    made.name = type + std::to_string(count_);
    made.type = type;
    made.inputs = std::move(inputs);
    made.outputs = {result};
    made.attributes = std::move(attributes);
    builder_.add_operator(std::move(made));
    return result;
  }
  [[nodiscard]] const OperatorGraph& graph() const { return builder_.graph(); }

 private:
  TensorId add(const std::string& name, const Shape& shape, TensorRole role) {
    Tensor tensor;
    tensor.name = name + std::to_string(++count_);
    tensor.shape = shape;
    tensor.role = role;
    return builder_.add_tensor(std::move(tensor));
  }
  OperatorGraphBuilder builder_;
  int count_ = 0;
};

// x -> h -> 4h -> h with an activation and a residual connection.
Net perceptron(std::int64_t samples, std::int64_t h) {
  Net net;
  const TensorId x = net.input({samples, h});
  const TensorId up = net.op("Gemm", {x, net.weight({h, 4 * h})}, {samples, 4 * h});
  const TensorId bent = net.op("Relu", {up}, {samples, 4 * h});
  const TensorId down = net.op("Gemm", {bent, net.weight({4 * h, h})}, {samples, h});
  net.op("Add", {x, down}, {samples, h});
  return net;
}

OperatorShards shards_of(const Net& net, const std::string& mesh, Bytes limit = kPlenty) {
  return shard_operators(net.graph(), parse_mesh(mesh), kDevice, limit);
}

std::vector<std::string> ways_of(const OperatorShards& shards, const std::string& type) {
  for (std::size_t i = 0; i < shards.names.size(); ++i)
    if (shards.names[i].starts_with(type)) return shards.ways(i);
  return {};
}

TEST(ShardOperators, MatchEnumerationAtEveryLimit) {
  for (const std::int64_t samples : {8, 64, 4096}) {
    const Net net = perceptron(samples, 32);
    const ShardingChoice fastest = choose_strategies(shards_of(net, "4").problem);
    ASSERT_TRUE(fastest.proved());
    for (int k = 0; k <= 10; ++k) {
      const ShardingProblem problem =
          shards_of(net, "4", fastest.memory_bytes * k / 10).problem;
      const ShardingChoice choice = choose_strategies(problem);
      const std::optional<Cost> least = enumerate(problem);
      ASSERT_TRUE(choice.proved()) << samples << ' ' << k;
      ASSERT_EQ(choice.found, least.has_value()) << samples << ' ' << k;
      if (!choice.found) continue;
      ASSERT_EQ(choice.cost, *least) << samples << ' ' << k;
    }
  }
}

// A chain of products costs what the same chain of linear layers does.
TEST(ShardOperators, AgreeWithLinearLayers) {
  for (const char* mesh : {"8", "2x3"}) {
    for (const std::int64_t samples : {48, 6000}) {
      Net net;
      const TensorId x = net.input({samples, 64});
      const TensorId up = net.op("MatMul", {x, net.weight({64, 256})}, {samples, 256});
      net.op("MatMul", {up, net.weight({256, 96})}, {samples, 96});
      ShardedModel model;
      model.setting.mesh = parse_mesh(mesh);
      model.setting.sequences = samples;
      model.setting.flops_a_second = kDevice.flops_a_second;
      model.setting.bytes_a_value = 4;
      model.parts = {{{linear_operator(model.setting, "up", 64, 256),
                       linear_operator(model.setting, "down", 256, 96)},
                      false}};
      model.sequence = {0};
      const ShardingChoice choice = choose_strategies(shards_of(net, mesh).problem);
      ASSERT_TRUE(choice.proved());
      EXPECT_EQ(choice.cost, shard_model(model, kPlenty).cost) << mesh << ' ' << samples;
    }
  }
}

TEST(ShardOperators, SpreadWhatCanBeComputedApart) {
  using Names = std::vector<std::string>;
  Net net;
  const TensorId x = net.input({8, 6, 10, 10});
  const TensorId wide = net.op("Conv", {x, net.weight({12, 6, 3, 3})}, {8, 12, 10, 10});
  const TensorId apart = net.op("Conv", {wide, net.weight({12, 4, 3, 3})},
                                {8, 12, 10, 10}, {{"group", std::int64_t{3}}});
  const TensorId normal = net.op("LRN", {apart}, {8, 12, 10, 10});
  const TensorId flat = net.op("Flatten", {normal}, {8, 1200});
  const TensorId all = net.op("NonZero", {flat}, {2, 9600});
  net.op("Softmax", {all}, {2, 9600}, {{"axis", std::int64_t{1}}});
  const OperatorShards shards = shards_of(net, "2");
  EXPECT_EQ(ways_of(shards, "x"), (Names{"whole", "batch", "features"}));
  EXPECT_EQ(ways_of(shards, "Conv").size(), 6u);
  EXPECT_EQ(ways_of(shards, "LRN"), (Names{"whole", "batch"}));
  EXPECT_EQ(ways_of(shards, "Flatten"), (Names{"whole", "batch", "features"}));
  EXPECT_EQ(ways_of(shards, "NonZero"), (Names{"whole"}));
  EXPECT_EQ(ways_of(shards, "Softmax"), (Names{"whole", "batch"}));
  EXPECT_EQ(ways_of(shards_of(perceptron(1, 4), "2"), "Relu"),
            (Names{"whole", "features"}));
}

TEST(ShardOperators, HoldParametersAndResults) {
  Net net;
  net.op("Gemm", {net.input({8, 4}), net.weight({4, 6})}, {8, 6});
  const OperatorShards shards = shards_of(net, "2");
  const std::vector<std::string> names = ways_of(shards, "Gemm");
  const auto held = [&](const char* way) {
    const auto at = std::ranges::find(names, way) - names.begin();
    return shards.problem.nodes()[1].usages[std::size_t(at)];
  };
  EXPECT_EQ(held("whole"), 24 * 16 + 8 * 6 * 4);
  EXPECT_EQ(held("data"), 24 * 16 + 4 * 6 * 4);
  EXPECT_EQ(held("column"), 12 * 16 + 8 * 3 * 4);
  EXPECT_EQ(held("row"), 12 * 16 + 8 * 6 * 4);
}

TEST(ShardOperators, RefuseAModelWithoutThem) {
  Net net;
  net.input({2, 2});
  EXPECT_THROW((void)shards_of(net, "2"), InvalidInput);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
