// What cannot be trained is said, with operator and tensor.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "espalier/model/error.h"
#include "training/step/mlp.h"
#include "training/step/networks.h"
#include "training/step/train_job.h"

namespace espalier::training {
namespace TEST_SOURCE {

// A product of 4x6 inputs and weights, and an operator of a type that reads it.
OperatorGraph product_and(const std::string& type, const Shape& w) {
  OperatorGraphBuilder builder;
  const TensorId x =
      builder.add_tensor({.name = "x", .shape = {4, 6}, .role = TensorRole::kInput});
  const TensorId weights = builder.add_tensor(
      {.name = "weights", .shape = w, .role = TensorRole::kParameter, .kept = true});
  const TensorId product = builder.add_tensor({.name = "product", .shape = {4, 3}});
  const TensorId result = builder.add_tensor({.name = "result", .shape = {4, 3}});
  builder.add_operator({.name = "first",
                        .type = "MatMul",
                        .domain = {},
                        .inputs = {x, weights},
                        .outputs = {product}});
  builder.add_operator({.name = "odd",
                        .type = type,
                        .domain = {},
                        .inputs = {product},
                        .outputs = {result}});
  builder.keep(result);
  return std::move(builder).build();
}

std::string refusal(const OperatorGraph& model) {
  try {
    TrainJob job(training_step(model, Optimiser::kSgd), {.runtime = {.workers = 1}});
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "none";
}

TEST(BadModels, AnUnknownOperatorIsNamed) {
  // One without a gradient, one without a kernel.
  for (const std::string type : {"Einsum", "Attention"}) {
    const std::string message = refusal(product_and(type, {6, 3}));
    EXPECT_NE(message.find("odd"), std::string::npos) << message;
    EXPECT_NE(message.find(type), std::string::npos) << message;
    EXPECT_NE(message.find("tensor '"), std::string::npos) << message;
  }
}

TEST(BadModels, AnOperatorThatDoesNotComputeInWholeNumbersIsNamed) {
  // The product times itself, in whole numbers and by an operator that has none.
  OperatorGraphBuilder builder;
  const TensorId x =
      builder.add_tensor({.name = "x", .shape = {4, 6}, .role = TensorRole::kInput});
  const TensorId weights = builder.add_tensor(
      {.name = "weights", .shape = {6, 3}, .role = TensorRole::kParameter, .kept = true});
  const TensorId product = builder.add_tensor({.name = "product", .shape = {4, 3}});
  const auto whole = [&builder](const char* name) {
    return builder.add_tensor(
        {.name = name, .type = ElementType::kInt32, .shape = {4, 3}});
  };
  const TensorId cut = whole("cut"), positive = whole("positive");
  const TensorId back = builder.add_tensor({.name = "back", .shape = {4, 3}});
  const TensorId result = builder.add_tensor({.name = "result", .shape = {4, 3}});
  const auto add = [&builder](const char* name, const char* type,
                              std::vector<std::optional<TensorId>> from, TensorId to) {
    builder.add_operator({.name = name,
                          .type = type,
                          .domain = {},
                          .inputs = std::move(from),
                          .outputs = {to}});
  };
  add("first", "MatMul", {x, weights}, product);
  add("to_whole", "Cast", {product}, cut);
  add("odd", "Relu", {cut}, positive);
  add("to_real", "Cast", {positive}, back);
  add("last", "Mul", {product, back}, result);
  builder.keep(result);
  const std::string message = refusal(std::move(builder).build());
  EXPECT_NE(message.find("operator 'odd' (Relu)"), std::string::npos) << message;
  EXPECT_NE(message.find("tensor 'cut' (4x3) of type int32"), std::string::npos)
      << message;
}

TEST(BadModels, ShapesThatDoNotGoTogetherAreNamed) {
  const std::string message = refusal(product_and("Relu", {5, 3}));
  EXPECT_NE(message.find("first"), std::string::npos) << message;
  EXPECT_NE(message.find("weights"), std::string::npos) << message;
  EXPECT_NE(message.find("5x3"), std::string::npos) << message;
}

std::string failure(const OperatorGraph& model, const TrainOptions& options,
                    const FillInputs& fill = {}) {
  TrainJob job(training_step(model, Optimiser::kSgd), options);
  job.plan();
  try {
    static_cast<void>(job.run(fill));
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "none";
}

TEST(BadModels, ALossThatIsNoNumberEndsTheRun) {
  const std::string message =
      failure(mlp({8, 16, 4}, 4),
              {.runtime = {.workers = 1}, .steps = 50, .update = {.rate = 1e30}});
  EXPECT_NE(message.find("the loss of step"), std::string::npos) << message;
  EXPECT_NE(message.find("the first to do so"), std::string::npos) << message;
}

// Half of what a logarithm gets is negative; the loss is NaN much later.
TEST(BadModels, TheFirstOperatorThatWroteNanIsNamed) {
  for (const bool planned : {true, false})
    for (const std::int32_t workers : {1, 2}) {
      const std::string message =
          failure(product_and("Log", {6, 3}),
                  {.runtime = {.workers = workers}, .steps = 2, .planned = planned});
      EXPECT_NE(message.find("in step 0 operator 'odd' (Log) wrote"), std::string::npos)
          << message;
      EXPECT_NE(message.find("nan into tensor 'result'"), std::string::npos) << message;
    }
}

TEST(BadModels, AnInputWithNanIsNamed) {
  const FillInputs fill = [](const TrainingGraph& training, std::int64_t step,
                             TensorId id, std::span<std::byte> bytes) {
    std::ranges::fill(bytes, std::byte{0});
    if (step == 2 && training.graph.tensor(id).type == ElementType::kFloat32)
      std::ranges::fill(bytes, std::byte{0xff});
  };
  const std::string message =
      failure(product_and("Neg", {6, 3}), {.runtime = {.workers = 1}, .steps = 5}, fill);
  EXPECT_NE(message.find("the loss of step 2"), std::string::npos) << message;
  EXPECT_NE(message.find("in step 2 the input tensor 'x'"), std::string::npos) << message;
}

// e^(10^30) is infinity, which is NaN as soon as the loss takes a difference.
TEST(BadModels, InfinityIsNamedWhereItCameBeforeNan) {
  const FillInputs fill = [](const TrainingGraph& training, std::int64_t, TensorId id,
                             std::span<std::byte> bytes) {
    std::ranges::fill(bytes, std::byte{0});
    if (training.graph.tensor(id).type == ElementType::kFloat32)
      std::ranges::fill(
          std::span(reinterpret_cast<float*>(bytes.data()), bytes.size() / 4), 1e30F);
  };
  const std::string message =
      failure(product_and("Exp", {6, 3}), {.runtime = {.workers = 1}, .steps = 1}, fill);
  EXPECT_NE(message.find("the loss of step 0"), std::string::npos) << message;
  EXPECT_EQ(message.find("--rate"), std::string::npos) << message;
  EXPECT_NE(message.find("; before, operator 'odd' (Exp) wrote inf into tensor 'result'"),
            std::string::npos)
      << message;
}

// Whoever looks last, the first in the order counts.
TEST(ValueCheck, KeepsTheFirstInTheOrderOfEachKind) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  ValueCheck check;
  const std::vector<float> good{1, -2, 3e38F}, bad{0, kInfinity, kNan};
  check.look(4, operator_id(4), tensor_id(9), good);
  EXPECT_FALSE(check.first_nan() || check.first_infinity());
  check.look(7, operator_id(7), tensor_id(1), bad);
  check.look(2, operator_id(2), tensor_id(3), std::vector<float>{-kInfinity});
  check.look(5, operator_id(5), tensor_id(2), std::vector<float>{1, kNan, kNan});
  ASSERT_TRUE(check.first_nan() && check.first_infinity());
  EXPECT_EQ(check.first_nan()->position, 5);
  EXPECT_EQ(check.first_nan()->element, 1);
  EXPECT_EQ(check.first_infinity()->position, 2);
  EXPECT_LT(check.first_infinity()->value, 0);
}

TEST(BadModels, ALabelOutsideTheClassesIsNamed) {
  TrainJob job(training_step(mlp({8, 16, 4}, 4), Optimiser::kSgd),
               {.runtime = {.workers = 1}, .steps = 1});
  job.plan();
  try {
    static_cast<void>(job.run(
        [](const TrainingGraph&, std::int64_t, TensorId, std::span<std::byte> bytes) {
          std::ranges::fill(bytes, std::byte{7});
        }));
    FAIL() << "it went on";
  } catch (const InvalidInput& error) {
    EXPECT_NE(std::string(error.what()).find("label"), std::string::npos) << error.what();
  }
}

TEST(BadModels, ABoundBelowTheLeastIsRefusedAndTheLeastNamed) {
  TrainJob job(training_step(mlp({8, 16, 4}, 4), Optimiser::kSgd),
               {.runtime = {.workers = 1}, .steps = 1});
  job.plan();
  const auto refused = job.fits(1 << 20);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().least_bytes, job.least());
  EXPECT_TRUE(job.fits(job.least()).has_value());
}

}  // namespace TEST_SOURCE
}  // namespace espalier::training
