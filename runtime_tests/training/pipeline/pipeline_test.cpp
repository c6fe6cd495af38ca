// Training steps that several jobs share, all of them in this process.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "espalier/training/transformer.h"
#include "solver/runtime/runtime.h"
#include "training/pipeline/shared_runs.h"
#include "training/step/draft.h"
#include "training/step/mlp.h"
#include "training/step/networks.h"

namespace espalier::training {
namespace TEST_SOURCE {

OperatorGraph perceptron() { return mlp({12, 24, 20, 16, 6}, 4); }

TEST(PipelineStep, LosesBitwiseWhatOneProcessLoses) {
  const solver::Runtime kept({.workers = 1});
  for (const Network& network :
       {Network{"perceptron", perceptron()}, Network{"convnet", small_convnet(2)},
        Network{"transformer", small_transformer()}}) {
    const Ran alone = train(network.graph, {.shared = {.micro_batches = 4}}, 3);
    for (const std::int32_t devices : {2, 4})
      for (const PipelineScheme scheme :
           {PipelineScheme::kGpipe, PipelineScheme::kOneForwardOneBackward,
            PipelineScheme::kZeroBubbleH1, PipelineScheme::kZeroBubbleH2}) {
        SCOPED_TRACE(fmt::format("{}, {} on {}", network.name, name(scheme), devices));
        const Ran ran = train(
            network.graph,
            {.shared = {.devices = devices, .micro_batches = 4}, .scheme = scheme}, 3);
        expect_losses(ran.losses.front(), alone.losses.front(),
                      std::string_view(network.name) != "transformer");
        EXPECT_GT(ran.passed, 0);
      }
  }
}

TEST(PipelineStep, SeveralChunksOnADeviceLoseTheSame) {
  const solver::Runtime kept({.workers = 1});
  const Ran alone = train(perceptron(), {.shared = {.micro_batches = 4}}, 3);
  for (const PipelineScheme scheme :
       {PipelineScheme::kInterleaved, PipelineScheme::kZeroBubbleV}) {
    const Ran ran = train(
        perceptron(),
        {.shared = {.devices = 2, .micro_batches = 4}, .scheme = scheme, .per_device = 2},
        3);
    expect_losses(ran.losses.front(), alone.losses.front(), true);
  }
}

TEST(PipelineStep, SearchedSchedulesLoseTheSameInsideTheirRoom) {
  const solver::Runtime kept({.workers = 1});
  const OperatorGraph model = mlp({12, 64, 64, 64, 64, 6}, 16);
  const Ran alone = train(model, {.shared = {.micro_batches = 6}}, 3);
  for (const std::int32_t per_device : {1, 2}) {
    Bytes most = 0;
    for (const double room : {1.0, 2.0, 0.0}) {
      SCOPED_TRACE(fmt::format("{} a device, room {}", per_device, room));
      const Ran ran = train(model,
                            {.shared = {.devices = 2, .micro_batches = 6},
                             .scheme = std::nullopt,
                             .per_device = per_device,
                             .room = room,
                             .plan_time = 60},
                            3);
      ASSERT_FALSE(ran.stopped);  // else arenas depend on the clock
      expect_losses(ran.losses.front(), alone.losses.front(), true);
      EXPECT_GE(ran.planned.front(), most);
      most = ran.planned.front();
    }
  }
}

TEST(PipelineStep, RunningForwardsAgainChangesMemoryAlone) {
  const solver::Runtime kept({.workers = 1});
  for (const Network& network :
       {Network{"perceptron", mlp({8, 64, 64, 64, 64, 64, 64, 4}, 64)},
        Network{"convnet", small_convnet(8)},
        Network{"transformer", small_transformer()}})
    for (const PipelineScheme scheme :
         {PipelineScheme::kOneForwardOneBackward, PipelineScheme::kZeroBubbleH1}) {
      SCOPED_TRACE(fmt::format("{}, {}", network.name, name(scheme)));
      Setting setting{.shared = {.devices = 2, .micro_batches = 4}, .scheme = scheme};
      setting.optimiser = Optimiser::kSgd;
      const Ran kept_all = train(network.graph, setting, 3);
      setting.shared.recomputed = {0.5, 1};
      const Ran some = train(network.graph, setting, 3);
      EXPECT_EQ(some.losses, kept_all.losses);
      setting.shared.recomputed = {1, 1};
      const Ran all = train(network.graph, setting, 3);
      EXPECT_EQ(all.losses, kept_all.losses);
      EXPECT_LT(all.planned.front(), kept_all.planned.front());
    }
}

struct Sum {
  Bytes parameters = 0, gradients = 0, states = 0;
};

// What each rank keeps, by the sizes of the parameters alone.
Sum kept_by(const OperatorGraph& model, const Setting& setting, std::int32_t rank) {
  Sum sum;
  const ZeroStage zero = setting.shared.zero;
  for (const Tensor& each : model.tensors()) {
    if (each.role != TensorRole::kParameter) continue;
    const std::int64_t n = element_count(each.shape), ranks = setting.shared.ranks;
    const std::int64_t size = (n + ranks - 1) / ranks;
    const std::int64_t own = std::clamp<std::int64_t>(n - rank * size, 0, size);
    sum.parameters += 4 * (zero >= ZeroStage::kParameters ? own : n);
    sum.gradients += 4 * (zero >= ZeroStage::kGradients ? own : n);
    sum.states += 8 * (zero >= ZeroStage::kStates ? own : n);
  }
  return sum;
}

TEST(PipelineStep, EveryStageOfZeroLosesTheSameAndKeepsItsBytes) {
  const solver::Runtime kept({.workers = 1});
  const Ran alone = train(perceptron(), {.shared = {.micro_batches = 6}}, 4);
  for (const std::int32_t ranks : {2, 3})
    for (int zero = 0; zero <= 3; ++zero) {
      SCOPED_TRACE(fmt::format("zero-{} on {}", zero, ranks));
      const Setting setting{.shared = {.ranks = ranks,
                                       .micro_batches = 6 / ranks,
                                       .zero = static_cast<ZeroStage>(zero)}};
      const Ran ran = train(perceptron(), setting, 4);
      // From stage 2 on gradients are summed up in the order of the micro-batches.
      expect_losses(ran.losses.front(), alone.losses.front(), zero >= 2);
      for (std::int32_t rank = 0; rank < ranks; ++rank) {
        const Sum expected = kept_by(perceptron(), setting, rank);
        const ProcessStep& step = ran.steps[static_cast<std::size_t>(rank)];
        EXPECT_EQ(step.parameter_bytes, expected.parameters);
        EXPECT_EQ(step.state_bytes, expected.states);
        EXPECT_EQ(step.gradient_bytes, expected.gradients);
      }
    }
}

TEST(PipelineStep, PipelinesOfDataParallelRanksLoseTheSame) {
  const solver::Runtime kept({.workers = 1});
  const Ran alone = train(small_transformer(), {.shared = {.micro_batches = 4}}, 3);
  for (int zero = 0; zero <= 3; ++zero) {
    SCOPED_TRACE(zero);
    const Ran ran = train(small_transformer(),
                          {.shared = {.devices = 2,
                                      .ranks = 2,
                                      .micro_batches = 2,
                                      .zero = static_cast<ZeroStage>(zero),
                                      .recomputed = {0.5, 0.5}},
                           .scheme = PipelineScheme::kZeroBubbleH1},
                          3);
    expect_losses(ran.losses.front(), alone.losses.front(), false);
  }
}

// Of one sample: the gradient of what is added has the shape of the result's, and is that
// tensor, which the stage behind makes.
OperatorGraph additions() {
  Draft draft;
  const Shape shape = {1, 8};
  TensorId x = draft.input(shape);
  for (int layer = 0; layer < 6; ++layer) {
    x = draft.op("MatMul", {x, draft.parameter({8, 8})}, shape);
    x = draft.op("Add", {x, draft.parameter(shape)}, shape);
  }
  return draft.build(x);
}

TEST(PipelineStep, GradientsThatAnotherStageMakesGoHome) {
  const solver::Runtime kept({.workers = 1});
  const Ran alone = train(additions(), {.shared = {.micro_batches = 4}}, 3);
  for (const std::int32_t devices : {2, 3, 4, 6})
    for (const std::int32_t ranks : {1, 2})
      for (int zero = 0; zero <= (ranks == 1 ? 0 : 3); ++zero) {
        SCOPED_TRACE(fmt::format("{} x {}, zero-{}", devices, ranks, zero));
        const Ran ran = train(additions(),
                              {.shared = {.devices = devices,
                                          .ranks = ranks,
                                          .micro_batches = 4 / ranks,
                                          .zero = static_cast<ZeroStage>(zero)}},
                              3);
        expect_losses(ran.losses.front(), alone.losses.front(), ranks == 1);
      }
}

// One micro-batch on one process is the step of TrainJob.
TEST(PipelineStep, AloneItIsTheStepOfOneBatch) {
  const solver::Runtime kept({.workers = 1});
  TrainOptions options;
  options.steps = 3;
  options.seed = 5;
  TrainJob job(training_step(perceptron(), Optimiser::kAdam), options);
  job.plan();
  const Ran ran = train(perceptron(), {}, 3);
  EXPECT_EQ(job.run().losses, ran.losses.front());
}

// Tensors whose bytes are no multiples of the arena's alignment.
TEST(TrainJob, ProvesArenasOfOddSizes) {
  const solver::Runtime kept({.workers = 1});
  TrainJob job(training_step(mlp({13, 29, 7}, 3), Optimiser::kSgd), TrainOptions());
  job.plan();
  EXPECT_TRUE(job.arrangement().proved());
  EXPECT_EQ(job.arena_bytes(), job.arrangement().lower_bound_bytes());
}

TEST(PipelineStep, ModelsThatAreTooShortAreRefused) {
  const SharedStep shared{.devices = 9, .micro_batches = 9};
  EXPECT_THROW(SharedTraining(mlp({4, 3}, 2), Optimiser::kSgd, shared,
                              {PipelineScheme::kOneForwardOneBackward, 1}),
               InvalidInput);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::training
