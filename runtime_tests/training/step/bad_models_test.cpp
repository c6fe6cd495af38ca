// What cannot be trained is said, with operator and tensor.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "espalier/model/error.h"
#include "training/step/mlp.h"
#include "training/step/networks.h"
#include "training/step/train_job.h"

namespace espalier::training {
namespace {

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
  for (const std::string type : {"Einsum", "Softplus"}) {
    const std::string message = refusal(product_and(type, {6, 3}));
    EXPECT_NE(message.find("odd"), std::string::npos) << message;
    EXPECT_NE(message.find(type), std::string::npos) << message;
    EXPECT_NE(message.find("tensor '"), std::string::npos) << message;
  }
}

TEST(BadModels, ShapesThatDoNotGoTogetherAreNamed) {
  const std::string message = refusal(product_and("Relu", {5, 3}));
  EXPECT_NE(message.find("first"), std::string::npos) << message;
  EXPECT_NE(message.find("weights"), std::string::npos) << message;
  EXPECT_NE(message.find("5x3"), std::string::npos) << message;
}

TEST(BadModels, ALossThatIsNoNumberEndsTheRun) {
  TrainJob job(training_step(mlp({8, 16, 4}, 4), Optimiser::kSgd),
               {.runtime = {.workers = 1}, .steps = 50, .update = {.rate = 1e30}});
  job.plan();
  try {
    static_cast<void>(job.run());
    FAIL() << "it went on";
  } catch (const InvalidInput& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("loss of step"), std::string::npos) << message;
    EXPECT_NE(message.find("SoftmaxCrossEntropyLoss"), std::string::npos) << message;
  }
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

}  // namespace
}  // namespace espalier::training
