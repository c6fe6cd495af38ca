// The graphs of processes that share a step.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "espalier/model/operator_tasks.h"
#include "training/pipeline/pipeline_job.h"
#include "training/step/messages.h"
#include "training/step/mlp.h"
#include "training/step/networks.h"

namespace espalier::training {
namespace TEST_SOURCE {

MicroStep perceptron(std::int32_t chunks, bool split) {
  const OperatorGraph model = mlp({8, 16, 16, 16, 4}, 2);
  return micro_step(model, step_options(model, Optimiser::kSgd), chunks, split);
}

std::vector<std::string> names(const MicroStep& micro, std::int32_t chunk,
                               PipelineKind part) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < micro.part.size(); ++i)
    if (micro.chunk[i] == chunk && micro.part[i] == part)
      found.push_back(micro.step.graph.operators()[i].name);
  return found;
}

using Names = std::vector<std::string>;

// Gemms of 2 x 8x16, 16x16, 16x16 and 16x4 times two samples: 512, 1024, 1024 and 256
// operations, so the cut is behind the second.
TEST(MicroStep, CutsAPerceptronBetweenPartsOfEqualWork) {
  const MicroStep micro = perceptron(2, false);
  EXPECT_EQ(names(micro, 0, PipelineKind::kForward), (Names{"gemm1", "relu1", "gemm2"}));
  EXPECT_EQ(names(micro, 1, PipelineKind::kForward),
            (Names{"relu2", "gemm3", "relu3", "gemm4", "loss"}));
  EXPECT_EQ(names(micro, 1, PipelineKind::kBackward),
            (Names{"loss/grad", "gemm4/grad", "relu3/grad", "gemm3/grad", "relu2/grad"}));
  // The first layer has no gradient but that of its weights.
  EXPECT_EQ(names(micro, 0, PipelineKind::kWeight), (Names{"gemm1/grad"}));
}

TEST(MicroStep, SplitGradientsOfWeightsAreOperationsOfTheirOwn) {
  const MicroStep micro = perceptron(2, true);
  EXPECT_EQ(names(micro, 1, PipelineKind::kWeight).size(), 2U);
  EXPECT_EQ(names(micro, 0, PipelineKind::kWeight).size(), 2U);
  EXPECT_EQ(names(micro, 1, PipelineKind::kBackward).size(), 5U);
  EXPECT_GT(micro.work[1].weight, 0);
}

TEST(MicroStep, GradientsOfParametersAreNamedByTheirParts) {
  const OperatorGraph model = small_transformer();
  const MicroStep micro =
      micro_step(model, step_options(model, Optimiser::kAdam), 3, false);
  std::set<std::size_t> partials;
  for (const MicroStep::Trained& each : micro.trained) {
    const std::string& name = micro.step.graph.tensor(each.parameter).name;
    partials.insert(each.partials.size());
    for (const TensorId partial : each.partials)
      EXPECT_EQ(micro.step.graph.tensor(partial).shape,
                micro.step.graph.tensor(each.parameter).shape)
          << name;
  }
  EXPECT_EQ(partials, (std::set<std::size_t>{1, 2}));  // the embedding is read twice
}

TEST(RankElements, CoverEveryElementOnce) {
  for (std::int64_t elements = 0; elements < 20; ++elements)
    for (std::int32_t ranks = 1; ranks < 7; ++ranks) {
      std::int64_t next = 0;
      for (std::int32_t rank = 0; rank < ranks; ++rank) {
        const ElementRange range = rank_elements(elements, ranks, rank);
        EXPECT_EQ(range.first, next);
        EXPECT_GE(range.count, 0);
        next += range.count;
      }
      EXPECT_EQ(next, elements) << ranks;
    }
}

// Runs every process strictly in its order, where a message takes both its ends at once.
// @return whether all come to their end
bool meets(const std::vector<ProcessStep>& steps) {
  std::vector<std::size_t> at(steps.size());
  const auto message = [&](std::size_t p) -> std::optional<Message> {
    const OperatorGraph& graph = steps[p].training.graph;
    while (at[p] < graph.size()) {
      if (auto found = message_of(graph.operators()[at[p]])) return found;
      ++at[p];
    }
    return std::nullopt;
  };
  for (bool moved = true; std::exchange(moved, false);)
    for (std::size_t p = 0; p < steps.size(); ++p) {
      const auto own = message(p);
      if (!own) continue;
      const auto q = static_cast<std::size_t>(own->process);
      const auto other = message(q);
      if (!other || other->number != own->number) continue;
      EXPECT_EQ(other->process, static_cast<std::int32_t>(p));
      EXPECT_NE(other->sent, own->sent);
      EXPECT_EQ(other->bytes, own->bytes);
      ++at[p], ++at[q];
      moved = true;
    }
  for (std::size_t p = 0; p < steps.size(); ++p)
    if (message(p)) return false;
  return true;
}

TEST(ProcessStep, MessagesMeetInSchedulesThatWereSearchedFor) {
  const OperatorGraph model = small_transformer();
  for (const std::int32_t per_device : {1, 2})
    for (const int room : {0, 1, 2, 3}) {
      SCOPED_TRACE(fmt::format("{} a device, room {}", per_device, room));
      const SharedStep shared{.devices = 3, .micro_batches = 5};
      const SharedTraining training(model, Optimiser::kAdam, shared,
                                    {std::nullopt, per_device});
      std::vector<Bytes> bounds;
      if (room > 0) bounds = training.least_held();
      for (Bytes& each : bounds) each *= room;
      const auto found = training.schedule(bounds);
      ASSERT_TRUE(found);
      for (std::size_t d = 0; d < bounds.size(); ++d)
        EXPECT_LE(found->held[d], bounds[d]);
      EXPECT_TRUE(meets(
          process_steps(training.micro(), shared, training.pipeline(), found->schedule)));
    }
}

// What a micro-batch keeps: of the first stage x1 = relu(gemm1) until W of gemm2, and
// gemm2's result, which is passed on and read by relu2 alone; of the second the scores'
// probabilities, and what relu2, relu3 gave.
TEST(MicroStep, CountsWhatAMicroBatchKeeps) {
  const MicroStep micro = perceptron(2, true);
  for (const MicroStep::Work& work : micro.work) {
    EXPECT_GT(work.until_weight, 0);
    EXPECT_GE(work.until_backward, 0);
  }
  // Two samples of 16: relu1's result (read by W of gemm2 and B of relu1), and gradients
  // of gemm2's and gemm1's results.
  EXPECT_EQ(micro.work[0].until_weight, 3 * 2 * 16 * 4);
  EXPECT_EQ(micro.work[0].until_backward, 0);
}

TEST(ProcessStep, MessagesMeetInEveryScheduleAndStageOfZero) {
  const OperatorGraph model = small_transformer();
  for (const PipelineScheme scheme :
       {PipelineScheme::kGpipe, PipelineScheme::kOneForwardOneBackward,
        PipelineScheme::kZeroBubbleH1, PipelineScheme::kZeroBubbleH2})
    for (const auto& [ranks, tensor] : {std::pair(1, 1), {2, 1}, {1, 2}, {2, 2}})
      for (int zero = 0; zero <= 3; ++zero)
        for (const double recomputed : {0.0, 0.6}) {
          SCOPED_TRACE(fmt::format("{}, {} ranks x {}, zero-{}", name(scheme), ranks,
                                   tensor, zero));
          const SharedStep shared{.devices = 3,
                                  .ranks = ranks,
                                  .tensor = tensor,
                                  .micro_batches = 4,
                                  .zero = static_cast<ZeroStage>(zero)};
          const SharedTraining training(model, Optimiser::kAdam, shared, {scheme, 1});
          SharedStep again = shared;
          again.recomputed = {recomputed, recomputed, recomputed};
          const auto steps = process_steps(training.micro(), again, training.pipeline(),
                                           named_pipeline(training.pipeline(), scheme));
          EXPECT_TRUE(meets(steps));
          for (const ProcessStep& step : steps)
            EXPECT_GT(task_graph_of(step.training.graph).graph.size(), 0U);
        }
}

// Without ranks only what one device writes and another one reads passes, and losses.
TEST(ProcessStep, APerceptronPassesActivationsAndTheirGradients) {
  const SharedStep shared{.devices = 2, .micro_batches = 3};
  const SharedTraining training(mlp({8, 16, 16, 16, 4}, 2), Optimiser::kSgd, shared,
                                {PipelineScheme::kOneForwardOneBackward, 1});
  const ProcessStep first = training.step_of(0, training.schedule()->schedule, {});
  std::map<bool, std::vector<Bytes>> bytes;
  for (const Operator& op : first.training.graph.operators())
    if (const auto message = message_of(op))
      bytes[message->sent].push_back(message->bytes);
  EXPECT_EQ(bytes[true], (std::vector<Bytes>{128, 128, 128}));
  EXPECT_EQ(bytes[false], (std::vector<Bytes>{128, 128, 128, 4}));
  EXPECT_EQ(first.parameter_bytes, 4 * (8 * 16 + 16 + 16 * 16 + 16));
}

}  // namespace TEST_SOURCE
}  // namespace espalier::training
