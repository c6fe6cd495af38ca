// Training steps run on StarPU from one arena.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>

#include "espalier/model/operator_tasks.h"
#include "solver/runtime/runtime.h"
#include "training/operators/dnnl_kernels.h"
#include "training/step/draft.h"
#include "training/step/initial_values.h"
#include "training/step/input_values.h"
#include "training/step/kernel_threads.h"
#include "training/step/networks.h"

namespace espalier::training {
namespace TEST_SOURCE {

constexpr std::uint64_t kSeed = 3;
constexpr RecipeOptions kOptions{.update = {.rate = 0.05}};

struct Ran {
  std::vector<float> losses;
  Bytes planned = 0, peak = 0;
};

void fill(const TrainingGraph& training, const Placement& placement, bool inputs) {
  for (std::size_t i = 0; i < training.graph.tensors().size(); ++i) {
    const TensorId id = tensor_id(i);
    const Tensor& tensor = training.graph.tensor(id);
    const std::span bytes(placement.tensor(id), static_cast<std::size_t>(tensor.bytes));
    const bool input = tensor.role == TensorRole::kInput;
    if (input && inputs) fill_input(training, id, kSeed, bytes);
    if (tensor.role != TensorRole::kComputed && !input && !inputs)
      fill_initial_value(training.graph, id, kSeed, bytes);
  }
}

Ran train(const TrainingGraph& training, bool planned, std::int32_t workers, int steps) {
  use_threads(1);
  const solver::Runtime runtime({.workers = workers});  // shared with the caller's
  StepKernels kernels = make_kernels(training.graph, kOptions, make_dnnl_kernel, true);
  const OperatorGraph graph = with_workspaces(training, kernels);
  Ran ran;
  std::vector<OperatorId> order;
  std::unique_ptr<Placement> placement;
  if (planned) {
    ArrangeLimits limits;
    limits.layout.alignment = kTensorAlignment;
    const OperatorTasks tasks = task_graph_of(graph);
    const Arrangement arrangement = arrange(tasks.graph, limits);
    EXPECT_TRUE(validate(tasks.graph, arrangement, kTensorAlignment).empty());
    const StepPlan plan = step_plan(graph, arrangement);
    ran.planned = plan.bytes;
    order = plan.order;
    placement = std::make_unique<Placement>(graph, plan);
  } else {
    for (std::size_t i = 0; i < graph.size(); ++i) order.push_back(operator_id(i));
    placement = std::make_unique<Placement>(graph);
  }
  fill(training, *placement, false);
  StepRun run(graph, kernels, order, *placement, {.threads = 1, .seed = kSeed});
  const solver::Awake awake(runtime);
  for (int step = 0; step < steps; ++step) {
    fill(training, *placement, true);
    run.run(step);
    float loss = 0;
    std::memcpy(&loss, placement->tensor(training.loss), sizeof loss);
    ran.losses.push_back(loss);
  }
  ran.peak = run.arena_peak();
  return ran;
}

TEST(TrainingStep, FromOneArenaIsBitwiseTheOneOfTensorsByThemselves) {
  for (const std::int32_t workers : {1, 2}) {
    const solver::Runtime kept({.workers = workers});
    for (const Network& network : small_networks()) {
      for (const Optimiser optimiser :
           {Optimiser::kSgd, Optimiser::kMomentum, Optimiser::kAdam}) {
        const TrainingGraph training = training_step(network.graph, optimiser);
        const Ran alone = train(training, false, workers, 4);
        const Ran planned = train(training, true, workers, 4);
        EXPECT_EQ(planned.losses, alone.losses) << network.name << ", " << workers;
        EXPECT_EQ(planned.peak, planned.planned) << network.name;
      }
    }
  }
}

TEST(TrainingStep, LearnsWhatItIsShown) {
  const solver::Runtime kept({.workers = 1});
  for (const Network& network : small_networks()) {
    const Ran ran =
        train(training_step(network.graph, Optimiser::kMomentum), true, 1, 20);
    EXPECT_LT(ran.losses.back(), 0.7F * ran.losses.front()) << network.name;
  }
}

TEST(TrainingStep, LosesWhatTheOracleLoses) {
  const solver::Runtime kept({.workers = 1});
  for (const Network& network : small_networks()) {
    const TrainingGraph training = training_step(network.graph, Optimiser::kSgd);
    const Ran ran = train(training, true, 1, 3);
    if (std::string_view(network.name) == "transformer") continue;  // drops others
    OracleStep oracle(training, kOptions, kSeed);
    for (int step = 0; step < 3; ++step) {
      oracle.run(step);
      EXPECT_NEAR(ran.losses[static_cast<std::size_t>(step)], oracle.loss(),
                  2e-5 * oracle.loss())
          << network.name << ", step " << step;
    }
  }
}

// The gradient of the image is left out, so that of the weights is the first result.
TEST(TrainingStep, MultipliesImagesOfOnePointByWeights) {
  const solver::Runtime kept({.workers = 1});
  Draft draft;
  const TensorId x = draft.input({2, 5, 1, 1}), w = draft.parameter({1, 5, 1, 1});
  const TrainingGraph training =
      training_step(draft.build(draft.op("Mul", {x, w}, {2, 5, 1, 1})), Optimiser::kSgd);
  const Ran ran = train(training, true, 1, 2);
  OracleStep oracle(training, kOptions, kSeed);
  for (int step = 0; step < 2; ++step) {
    oracle.run(step);
    EXPECT_NEAR(ran.losses[static_cast<std::size_t>(step)], oracle.loss(), 1e-5);
  }
}

// The gradient that a parameter's update reads, against losses at both sides.
TEST(TrainingStep, GradientsAreThoseOfCentralDifferences) {
  for (const Network& network : small_networks()) {
    const TrainingGraph training = training_step(network.graph, Optimiser::kSgd);
    const RecipeOptions still{.update = {.rate = 0}};
    OracleStep oracle(training, still, kSeed);
    std::mt19937_64 random(1);
    for (const Operator& op : training.graph.operators()) {
      if (op.type != "SgdUpdate") continue;
      const TensorId dw = *op.input(0), w = *op.input(1);
      const auto count =
          static_cast<std::uint64_t>(element_count(training.graph.tensor(w).shape));
      const std::size_t element = random() % count;
      double losses[2];
      for (const int side : {0, 1}) {
        oracle.reset();
        oracle.values(w)[element] += side == 0 ? 1e-5 : -1e-5;
        oracle.run(0);
        losses[side] = oracle.loss();
      }
      const double expected = (losses[0] - losses[1]) / 2e-5;
      oracle.reset();
      oracle.watch(dw);
      oracle.run(0);
      EXPECT_NEAR(oracle.watched()[element], expected, 1e-6 * (1 + std::abs(expected)))
          << network.name << ", " << training.graph.tensor(w).name;
    }
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::training
