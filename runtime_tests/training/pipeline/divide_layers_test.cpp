// Which layers a tensor group divides, and into what.

#include "training/pipeline/divide_layers.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "espalier/model/error.h"
#include "espalier/training/transformer.h"
#include "training/step/mlp.h"
#include "training/step/random_numbers.h"

namespace espalier::training {
namespace TEST_SOURCE {

using Types = std::vector<std::string>;

Types types_of(const OperatorGraph& graph) {
  Types types;
  for (const Operator& op : graph.operators()) types.push_back(op.type);
  return types;
}

Shape shape_of(const OperatorGraph& graph, const std::string& name) {
  return graph.tensor(*graph.find_tensor(name)).shape;
}

// 8 -> 6 by columns, 6 -> 4 by rows; 4 -> 3 alone has no second one.
TEST(DivideLayers, TakesPairsOfAPerceptron) {
  const DividedModel divided = divide_layers(mlp({8, 6, 4, 3}, 5), 2);
  EXPECT_EQ(types_of(divided.model), (Types{"GroupCopy", "Gemm", "Relu", "Gemm",
                                            "GroupSum", "Add", "Relu", "Gemm"}));
  EXPECT_EQ(divided.products, 3);
  EXPECT_EQ(divided.divided_products, 2);
  EXPECT_EQ(shape_of(divided.model, "w1"), (Shape{8, 3}));
  EXPECT_EQ(shape_of(divided.model, "b1"), (Shape{3}));
  EXPECT_EQ(shape_of(divided.model, "y1"), (Shape{5, 3}));
  EXPECT_EQ(shape_of(divided.model, "w2"), (Shape{3, 4}));
  EXPECT_EQ(shape_of(divided.model, "b2"), (Shape{4}));
  EXPECT_EQ(shape_of(divided.model, "sum2"), (Shape{5, 4}));
  EXPECT_EQ(shape_of(divided.model, "w3"), (Shape{4, 3}));
  // Row r of w1 has six elements, of which part 0 has the first three.
  EXPECT_EQ(divided.divided.at("w1").run, 3);
  EXPECT_EQ(divided.divided.at("w1").stride, 6);
  EXPECT_EQ(divided.divided.at("w2").run, 12);
  EXPECT_EQ(divided.divided.at("w2").stride, 24);
}

TEST(DivideLayers, TakesHeadsAndBothPairsOfEveryBlock) {
  const TransformerShape shape{
      .layers = 2, .width = 12, .heads = 3, .sequence = 5, .vocabulary = 7, .batch = 2};
  const DividedModel divided = divide_layers(transformer(shape), 3);
  EXPECT_EQ(divided.products, 9);  // with the scores
  EXPECT_EQ(divided.divided_products, 8);
  const OperatorGraph& model = divided.model;
  EXPECT_EQ(shape_of(model, "block1/qkv/weight"), (Shape{12, 12}));
  EXPECT_EQ(shape_of(model, "block1/q"), (Shape{10, 4}));
  EXPECT_EQ(shape_of(model, "block1/products/y"), (Shape{2, 1, 5, 5}));
  EXPECT_EQ(shape_of(model, "block1/project/weight"), (Shape{4, 12}));
  EXPECT_EQ(shape_of(model, "block0/widen/weight"), (Shape{12, 16}));
  EXPECT_EQ(shape_of(model, "embedding"), (Shape{7, 12}));
  // Of queries, keys and values the same heads.
  const ElementRuns qkv = divided.divided.at("block0/qkv/weight");
  EXPECT_EQ(qkv.run, 4);
  EXPECT_EQ(qkv.stride, 12);
  const auto& drop = model.op(*model.find_operator("block0/drop_scores"));
  EXPECT_EQ(drop.integer("run", 0), 25);
  EXPECT_EQ(drop.integer("stride", 0), 75);
}

// Heads that the group does not divide leave attention whole; the perceptrons are not.
TEST(DivideLayers, LeavesWholeWhatItCannotDivide) {
  const TransformerShape shape{
      .layers = 1, .width = 12, .heads = 3, .sequence = 5, .vocabulary = 7};
  EXPECT_EQ(divide_layers(transformer(shape), 2).divided_products, 2);
  EXPECT_THROW((void)divide_layers(transformer(shape), 5), InvalidInput);
  EXPECT_THROW((void)divide_layers(mlp({4, 3}, 2), 3), InvalidInput);
  EXPECT_THROW((void)divide_layers(mlp({4, 5, 4}, 2), 2), InvalidInput);
}

// x -> q = x a, k = x b, v = x c, each a layer of its own; (q kᵀ) v by head, then rows.
OperatorGraph separate_heads(bool scale) {
  OperatorGraphBuilder out;
  const auto tensor = [&](const char* name, Shape shape, TensorRole role) {
    return out.add_tensor({.name = name, .shape = std::move(shape), .role = role});
  };
  const auto op = [&](const char* type, std::vector<TensorId> inputs, const char* name,
                      Shape shape, std::vector<std::int64_t> perm = {}) {
    const TensorId y = tensor(name, std::move(shape), TensorRole::kComputed);
    Operator added{.name = name, .type = type, .outputs = {y}};
    added.inputs.assign(inputs.begin(), inputs.end());
    if (!perm.empty()) added.attributes["perm"] = perm;
    (void)out.add_operator(std::move(added));
    return y;
  };
  const auto to_shape = [&](std::string name, const Shape& shape) {
    return out.add_tensor({.name = std::move(name),
                           .type = ElementType::kInt64,
                           .shape = {std::ssize(shape)},
                           .role = TensorRole::kConstant,
                           .value = TensorValue::of(shape)});
  };
  const TensorId x = tensor("x", {2, 3, 8}, TensorRole::kInput);
  const auto heads = [&](const std::string& at, std::vector<std::int64_t> perm,
                         Shape shape) {
    const TensorId w = tensor(("w" + at).c_str(), {8, 8}, TensorRole::kParameter);
    TensorId y = op("MatMul", {x, w}, at.c_str(), {2, 3, 8});
    const TensorId to = to_shape(at + "/to", {2, 3, 4, 2});
    y = op("Reshape", {y, to}, (at + "/apart").c_str(), {2, 3, 4, 2});
    return op("Transpose", {y}, (at + "/heads").c_str(), std::move(shape), perm);
  };
  const TensorId q = heads("q", {0, 2, 1, 3}, {2, 4, 3, 2});
  const TensorId k = heads("k", {0, 2, 3, 1}, {2, 4, 2, 3});
  const TensorId v = heads("v", {0, 2, 1, 3}, {2, 4, 3, 2});
  TensorId y = op("MatMul", {q, k}, "products", {2, 4, 3, 3});
  if (scale)  // a parameter for all heads has a gradient of all
    y = op("Mul", {y, tensor("scale", {1}, TensorRole::kParameter)}, "scaled",
           {2, 4, 3, 3});
  y = op("MatMul", {y, v}, "mix", {2, 4, 3, 2});
  y = op("Transpose", {y}, "together", {2, 3, 4, 2}, {0, 2, 1, 3});
  y = op("Reshape", {y, to_shape("to", {2, 3, 8})}, "joined", {2, 3, 8});
  y = op("MatMul", {y, tensor("wo", {8, 5}, TensorRole::kParameter)}, "out", {2, 3, 5});
  out.keep(y);
  return std::move(out).build();
}

TEST(DivideLayers, FindsQueriesKeysAndValuesOfTheirOwn) {
  const DividedModel divided = divide_layers(separate_heads(false), 4);
  EXPECT_EQ(divided.divided_products, 4);
  EXPECT_EQ(shape_of(divided.model, "wk"), (Shape{8, 2}));
  EXPECT_EQ(shape_of(divided.model, "wo"), (Shape{2, 5}));
  std::map<std::string, int> count;
  for (const std::string& type : types_of(divided.model)) ++count[type];
  EXPECT_EQ(count["GroupCopy"], 1);  // one sum for all three on the way back
  EXPECT_EQ(count["GroupSum"], 1);
  EXPECT_THROW((void)divide_layers(separate_heads(true), 4), InvalidInput);
}

// All parts together have each element of each parameter once.
TEST(DivideLayers, PartsCoverEveryElementOnce) {
  const TransformerShape shape{
      .layers = 1, .width = 24, .heads = 6, .sequence = 5, .vocabulary = 7};
  const OperatorGraph whole = transformer(shape);
  for (const std::int32_t parts : {2, 3, 6}) {
    const DividedModel divided = divide_layers(whole, parts);
    EXPECT_EQ(divided.divided.size(), 6U);  // two pairs, a bias for each first layer
    for (const auto& [name, runs] : divided.divided) {
      std::set<std::int64_t> seen;
      const std::int64_t own = element_count(shape_of(divided.model, name));
      for (std::int32_t part = 0; part < parts; ++part)
        for (std::int64_t i = 0; i < own; ++i)
          seen.insert(ElementRuns{part * runs.run, runs.run, runs.stride}.place(i));
      EXPECT_EQ(std::ssize(seen), own * parts) << name;
      EXPECT_EQ(*seen.rbegin() + 1, element_count(shape_of(whole, name))) << name;
    }
  }
}

TEST(FillNormal, RunsAreThoseOfTheWhole) {
  std::vector<float> whole(60), part(20);
  fill_normal(3, 1, whole);
  for (std::int64_t first = 0; first < 6; ++first) {
    const ElementRuns runs{first, 5, 11};  // odd starts and odd lengths
    const std::span values = std::span(part).first(15);
    fill_normal(3, 1, values, 4, runs);
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(
          values[i],
          whole[static_cast<std::size_t>(runs.place(4 + static_cast<std::int64_t>(i)))]);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::training
