// What does not go together in shape is refused before a kernel is made, by name.

#include "training/step/operator_shapes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "espalier/model/error.h"
#include "training/step/draft.h"
#include "training/step/recipe_kernel.h"

namespace espalier::training {
namespace TEST_SOURCE {

using List = std::vector<std::int64_t>;

/// An operator on the product of a batch and weights, and what it is said to give.
struct Example {
  std::string type;
  Shape x;
  std::vector<Shape> operands;  ///< trained
  std::vector<Shape> results;
  Attributes with = {};
  std::vector<List> lists = {};  ///< constants behind the operands
};

// Why no step is made of it; nothing: one is.
std::string refusal(const Example& example, std::int64_t operator_set = 17) {
  Draft draft(operator_set);
  Shape row(example.x.size(), 1);
  if (!row.empty()) row.back() = example.x.back();
  const TensorId x =
      draft.op("Mul", {draft.input(example.x), draft.parameter(row)}, example.x);
  std::vector<std::optional<TensorId>> inputs = {x};
  for (const Shape& shape : example.operands) inputs.emplace_back(draft.parameter(shape));
  for (const List& list : example.lists) inputs.emplace_back(draft.constant(list));
  const auto y = draft.several(example.type, inputs, example.results, example.with);
  try {
    const TrainingGraph step = training_step(draft.build(y[0]), Optimiser::kSgd);
    (void)make_kernels(step.graph, {}, make_reference_kernel, false);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "";
}

void expect_refused(const Example& example, const std::string& part,
                    std::int64_t operator_set = 17) {
  const std::string message = refusal(example, operator_set);
  EXPECT_NE(message.find("(" + example.type + ")"), std::string::npos)
      << example.type << ": " << message;
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

std::vector<Example> good_images() {
  const Shape x = {4, 6, 5, 5};
  return {{"BatchNormalization", x, {{6}, {6}, {6}, {6}}, {x}},
          {"InstanceNormalization", x, {{6}, {6}}, {x}},
          {"GroupNormalization", x, {{3}, {3}}, {x}, {{"num_groups", std::int64_t{3}}}},
          {"GroupNormalization", x, {{6}, {6}}, {x}, {{"num_groups", std::int64_t{3}}}},
          {"LayerNormalization", x, {{5}}, {x}, {{"axis", std::int64_t{-1}}}},
          {"LayerNormalization", x, {{5}, {1}}, {x}, {{"axis", std::int64_t{1}}}},
          {"LayerNormalization", x, {{1, 6, 1, 5}}, {x}, {{"axis", std::int64_t{1}}}},
          {"LayerNormalization", x, {{}, {5, 5}}, {x}, {{"axis", std::int64_t{2}}}},
          {"LRN", x, {}, {x}, {{"size", std::int64_t{4}}}},
          {"Conv", x, {{9, 2, 3, 3}, {9}}, {{4, 9, 3, 3}}, {{"group", std::int64_t{3}}}},
          {"Conv",
           x,
           {{2, 6, 2, 2}},
           {{4, 2, 3, 3}},
           {{"auto_pad", std::string("SAME_UPPER")}, {"strides", List{2, 2}}}},
          {"ConvTranspose",
           x,
           {{6, 3, 3, 3}, {3}},
           {{4, 3, 11, 11}},
           {{"strides", List{2, 2}}}},
          {"ConvTranspose",
           x,
           {{6, 3, 3, 3}, {3}},
           {{4, 3, 10, 9}},
           {{"strides", List{2, 2}}, {"output_shape", List{10, 9}}}},
          {"MaxPool",
           x,
           {},
           {{4, 6, 2, 2}},
           {{"kernel_shape", List{2, 2}}, {"strides", List{2, 2}}}},
          {"MaxPool",
           x,
           {},
           {{4, 6, 3, 3}},
           {{"kernel_shape", List{2, 2}},
            {"strides", List{2, 2}},
            {"ceil_mode", std::int64_t{1}}}},
          {"GlobalAveragePool", x, {}, {{4, 6, 1, 1}}}};
}

std::vector<Example> good_matrices() {
  return {
      {"Gemm", {4, 6}, {{6, 3}, {3}}, {{4, 3}}},
      {"Gemm", {4, 6}, {{3, 6}, {4, 1}}, {{4, 3}}, {{"transB", std::int64_t{1}}}},
      {"MatMul", {4, 6, 5}, {{5}}, {{4, 6}}},
      {"MatMul", {5}, {{3, 5, 2}}, {{3, 2}}},
      {"MatMul", {4, 6, 5}, {{2, 1, 5, 3}}, {{2, 4, 6, 3}}},
      {"Sum", {4, 6}, {{6}, {4, 1}}, {{4, 6}}},
      {"Slice", {4, 6}, {}, {{4, 2}}, {}, {{5}, {0}, {1}, {-3}}},
      {"Slice", {4, 6}, {}, {{4, 1}}, {}, {{2}, {1 << 30}, {-1}, {1L << 62}}},
      {"Pad", {4, 6}, {}, {{4, 7}}, {}, {{0, 2, 0, -1}}},
      {"ReduceMean",
       {4, 6, 5},
       {},
       {{4, 5}},
       {{"axes", List{-2}}, {"keepdims", std::int64_t{0}}}},
      {"ReduceSum", {4, 6}, {}, {{4, 6}}, {{"noop_with_empty_axes", std::int64_t{1}}}},
      {"ReduceSum",
       {4, 6},
       {},
       {{4, 6}},
       {{"noop_with_empty_axes", std::int64_t{1}}},
       {{}}},
      {"Expand", {4, 1}, {}, {{2, 4, 3}}, {}, {{2, 1, 3}}},
      {"Reshape", {4, 6}, {}, {{4, 2, 3}}, {}, {{0, -1, 3}}},
      {"Flatten", {4, 6, 5}, {}, {{4, 30}}},
      {"Squeeze", {4, 1, 5}, {}, {{4, 5}}, {}, {{1}}},
      {"Unsqueeze", {4, 5}, {}, {{4, 1, 5, 1}}, {}, {{1, -1}}},
      {"Transpose", {4, 6, 5}, {}, {{5, 4, 6}}, {{"perm", List{2, 0, 1}}}},
      {"Split",
       {4, 7},
       {},
       {{4, 3}, {4, 3}, {4, 1}},
       {{"axis", std::int64_t{1}}, {"num_outputs", std::int64_t{3}}}},
      {"Concat", {4, 7}, {{4, 2}}, {{4, 9}}, {{"axis", std::int64_t{-1}}}}};
}

TEST(OperatorShapes, ThoseThatGoTogetherAreTaken) {
  for (const auto& examples : {good_images(), good_matrices()})
    for (const Example& example : examples)
      EXPECT_EQ(refusal(example), "")
          << example.type << " of " << espalier::describe(example.x);
}

TEST(OperatorShapes, EntriesOfChannelsAreAsManyAsChannels) {
  const Shape x = {4, 6, 5, 5};
  const Attributes two = {{"num_groups", std::int64_t{2}}};
  const Attributes second = {{"axis", std::int64_t{2}}};
  expect_refused({"BatchNormalization", x, {{5}, {6}, {6}, {6}}, {x}}, "(5)");
  expect_refused({"BatchNormalization", x, {{6}, {5}, {6}, {6}}, {x}}, "(5)");
  expect_refused({"BatchNormalization", x, {{6}, {6}, {7}, {6}}, {x}}, "(7)");
  expect_refused({"BatchNormalization", x, {{6}, {6}, {6}, {1}}, {x}},
                 "(1) does not go with tensor 't2' (4x6x5x5): its shape would be 6");
  expect_refused({"InstanceNormalization", x, {{6}, {5}}, {x}}, "(5)");
  expect_refused({"GroupNormalization", x, {{6}, {2}}, {x}, two}, "(2)");
  expect_refused({"GroupNormalization", x, {{2}, {6}}, {x}, two}, "(6)");
  expect_refused({"GroupNormalization", x, {{3}, {3}}, {x}, two}, "(3)");
  for (const std::int64_t groups : {-1, 0, 4, 12})
    expect_refused({"GroupNormalization", x, {{6}, {6}}, {x}, {{"num_groups", groups}}},
                   std::to_string(groups));
  expect_refused({"GroupNormalization", x, {{6}, {6}}, {x}}, "num_groups");
  expect_refused({"LayerNormalization", x, {{26}}, {x}, second}, "(26)");
  expect_refused({"LayerNormalization", x, {{4}}, {x}, second}, "(4)");
  expect_refused({"LayerNormalization", x, {{5}, {2, 5}}, {x}, second}, "(2x5)");
  expect_refused({"LayerNormalization", x, {{6, 5, 5}}, {x}, second}, "(6x5x5)");
  expect_refused({"Conv", x, {{9, 6, 3, 3}, {8}}, {{4, 9, 3, 3}}}, "(8)");
  expect_refused({"Conv", x, {{9, 6, 3, 3}, {1}}, {{4, 9, 3, 3}}}, "(1)");
  expect_refused({"ConvTranspose", x, {{6, 3, 3, 3}, {2}}, {{4, 3, 7, 7}}}, "(2)");
  for (const auto& [given, why] : {std::pair(List{8, 7}, "an extent of 8, and 1 to 7"),
                                   std::pair(List{0, 7}, "an extent of 0, and 1 to 7"),
                                   std::pair(List{7}, "its output_shape has 1 extents")})
    expect_refused(
        {"ConvTranspose", x, {{6, 3, 3, 3}}, {{4, 3, 7, 7}}, {{"output_shape", given}}},
        why);
}

TEST(OperatorShapes, WhatAModelDeclaresOfAResultIsNotBelieved) {
  const Shape x = {4, 6};
  const Shape image = {4, 6, 5, 5};
  const Attributes two = {{"kernel_shape", List{2, 2}}};
  for (const Shape& wrong :
       {Shape{2, 2}, Shape{40, 60}, Shape{24}, Shape{6, 4}, Shape{}}) {
    const std::string part = "(" + espalier::describe(wrong) + ")";
    for (const char* const type : {"Gelu", "Relu", "Identity", "Cast", "Dropout", "Elu"})
      expect_refused({type, x, {}, {wrong}}, part, 20);
    for (const char* const type : {"Add", "Mul", "Sum", "Max"})
      expect_refused({type, x, {{6}}, {wrong}}, part);
    expect_refused({"Gemm", x, {{6, 3}}, {wrong}}, part);
    expect_refused({"MatMul", x, {{6, 3}}, {wrong}}, part);
    expect_refused({"Transpose", x, {}, {wrong.size() == 2 ? x : wrong}}, "(");
    expect_refused({"ReduceMean", x, {}, {wrong}, {{"axes", List{0}}}}, part);
    expect_refused({"GroupNormalization",
                    image,
                    {{6}, {6}},
                    {wrong},
                    {{"num_groups", std::int64_t{2}}}},
                   part, 21);
    expect_refused({"LayerNormalization", x, {{6}}, {wrong}}, part);
    expect_refused({"Conv", image, {{9, 6, 3, 3}}, {wrong}}, part);
    expect_refused({"MaxPool", image, {}, {wrong}, two}, part);
    expect_refused({"GlobalMaxPool", image, {}, {wrong}}, part);
    expect_refused({"Slice", x, {}, {wrong}, {}, {{0}, {1}}}, part);
    expect_refused({"Pad", x, {}, {wrong}, {}, {{1, 1, 1, 1}}}, part);
    expect_refused({"Concat", x, {{4, 2}}, {wrong}, {{"axis", std::int64_t{1}}}}, part);
    expect_refused({"Split", x, {}, {wrong, {4, 3}}, {{"axis", std::int64_t{1}}}}, part,
                   18);
  }
  expect_refused({"Reshape", x, {}, {{6, 4}}, {}, {{4, 6}}}, "6x4");
  expect_refused({"Expand", x, {}, {{2, 4, 6}}, {}, {{3, 4, 6}}}, "3x4x6");
}

TEST(OperatorShapes, TensorsWithoutElementsAreRefused) {
  expect_refused({"MatMul", {4, 6}, {{6, 0}}, {{4, 0}}}, "(6x0) has no element");
  expect_refused({"Slice", {4, 6}, {}, {{0, 6}}, {}, {{2}, {2}}}, "(0x6) has no element");
  EXPECT_NE(refusal({"Relu", {0, 6}, {}, {{0, 6}}}).find("has no element"),
            std::string::npos);
}

TEST(OperatorShapes, AttributesThatAreNoneAreRefused) {
  const Shape x = {4, 6};
  const Shape image = {4, 6, 5, 5};
  expect_refused({"LRN", image, {}, {image}}, "size");
  expect_refused({"LRN", image, {}, {image}, {{"size", std::int64_t{0}}}}, "size");
  expect_refused({"ReduceMean", x, {}, {{4, 1}}, {{"axes", List{1, -1}}}}, "twice");
  expect_refused({"ReduceMean", x, {}, {{4, 1}}, {{"axes", List{2}}}}, "axis 2");
  expect_refused(
      {"Conv", image, {{9, 6, 3, 3}}, {{4, 9, 3, 3}}, {{"strides", List{0, 1}}}},
      "stride of 0");
  expect_refused({"Clip", x, {}, {x}, {{"min", 1.0}, {"max", -1.0}}}, "1 and -1");
  expect_refused({"Conv", image, {{9, 6, 9, 9}}, {{4, 9, 1, 1}}}, "larger");
  expect_refused({"Slice", x, {}, {{4, 6}}, {}, {{0}, {6}, {1}, {0}}}, "step of 0");
  expect_refused({"AveragePool",
                  image,
                  {},
                  {{4, 6, 3, 3}},
                  {{"kernel_shape", List{2, 2}},
                   {"strides", List{2, 2}},
                   {"ceil_mode", std::int64_t{1}},
                   {"count_include_pad", std::int64_t{1}}}},
                 "count_include_pad");
  expect_refused({"Conv",
                  image,
                  {{9, 6, 3, 3}},
                  {{4, 9, 3, 3}},
                  {{"pads", List{1L << 62, 1L << 62, 1L << 62, 1L << 62}}}},
                 "64-bit");
}

}  // namespace TEST_SOURCE
}  // namespace espalier::training
