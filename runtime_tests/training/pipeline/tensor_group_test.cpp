// Training steps whose linear layers several jobs divide, all of them in this process.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "espalier/training/transformer.h"
#include "training/pipeline/shared_runs.h"
#include "training/step/mlp.h"
#include "training/step/networks.h"

namespace espalier::training {
namespace TEST_SOURCE {

OperatorGraph blocks() {
  return transformer({.layers = 4,
                      .width = 16,
                      .heads = 4,
                      .sequence = 6,
                      .vocabulary = 11,
                      .batch = 2,
                      .dropout = 0.1});
}

TEST(TensorGroup, LosesWhatOneProcessLoses) {
  const solver::Runtime kept({.workers = 1});
  for (const Network& network : {Network{"perceptron", mlp({12, 24, 20, 16, 16, 5}, 4)},
                                 Network{"transformer", blocks()}}) {
    const Ran alone = train(network.graph, {.shared = {.micro_batches = 4}}, 5);
    for (const SharedStep& shared :
         {SharedStep{.tensor = 2, .micro_batches = 4},
          SharedStep{.tensor = 4, .micro_batches = 4},
          SharedStep{.ranks = 2, .tensor = 2, .micro_batches = 2},
          SharedStep{.ranks = 2,
          .tensor = 2,
          .micro_batches = 2,
          .zero = ZeroStage::kParameters},
          SharedStep{.devices = 2, .tensor = 2, .micro_batches = 4},
          SharedStep{
              .devices = 2, .tensor = 2, .micro_batches = 4, .recomputed = {0.5, 1}},
          SharedStep{.devices = 2,
          .ranks = 2,
          .tensor = 2,
          .micro_batches = 2,
          .zero = ZeroStage::kGradients}}) {
      SCOPED_TRACE(fmt::format("{}, {} x {} x {}, zero-{}", network.name, shared.devices,
                               shared.ranks, shared.tensor,
                               static_cast<int>(shared.zero)));
      const Ran ran =
          train(network.graph,
                {.shared = shared,
                 .scheme = shared.devices == 1 ? PipelineScheme::kOneForwardOneBackward
                                               : PipelineScheme::kZeroBubbleH1},
                5);
      expect_losses(ran.losses.front(), alone.losses.front(), false);
    }
  }
}

// 8 x 6 and 6 x 4 divided, with the first bias; 4 x 3, its bias and the second whole.
TEST(TensorGroup, KeepsItsPartOfParametersAlone) {
  const solver::Runtime kept({.workers = 1});
  const Ran ran =
      train(mlp({8, 6, 4, 3}, 2), {.shared = {.tensor = 2, .micro_batches = 2}}, 1);
  for (const ProcessStep& step : ran.steps) {
    const Bytes elements = 8 * 3 + 3 + 3 * 4 + 4 + 4 * 3 + 3;
    EXPECT_EQ(step.parameter_bytes, 4 * elements);
    EXPECT_EQ(step.gradient_bytes, 4 * elements);
    EXPECT_EQ(step.state_bytes, 8 * elements);
  }
}

// Of 2 x 4 elements, the second layer's results: half is sent to be summed up, half of
// the sum comes back, in each of three micro-batches; no gradient of the input is wanted.
// And the loss.
TEST(TensorGroup, PassesOneSumAPair) {
  const solver::Runtime kept({.workers = 1});
  const Ran ran =
      train(mlp({8, 6, 4}, 2), {.shared = {.tensor = 2, .micro_batches = 3}}, 1);
  EXPECT_EQ(ran.passed, 3 * 2 * (16 + 16) + 4);
}

TEST(TensorGroup, NeedsLessMemoryThanOneProcess) {
  const solver::Runtime kept({.workers = 1});
  const OperatorGraph model = mlp({64, 256, 64, 256, 64, 8}, 4);
  const Ran alone = train(model, {.shared = {.micro_batches = 2}}, 1);
  const Ran both = train(model, {.shared = {.tensor = 2, .micro_batches = 2}}, 1);
  for (const Bytes planned : both.planned)
    EXPECT_LT(planned, alone.planned.front() * 6 / 10);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::training
