// The cases of one subject, which share their instances: over 300 lines.

#include "espalier/sharding/training_plan.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>

#include "espalier/sharding/decoder_layers.h"
#include "espalier/sharding/operator_layers.h"
#include "espalier/sharding/plan_training.h"
#include "espalier/sharding/rank_memory.h"
#include "support/model_builder.h"

namespace espalier {
namespace TEST_SOURCE {

constexpr Bytes kPlenty = std::numeric_limits<Bytes>::max() / 4;

TrainingModel model_of(const TransformerShape& shape) {
  return {"small", parameters_of(shape), shape.layers + 2,
          [shape](std::int32_t t) { return why_not_split(shape, t); },
          [shape](std::int32_t t, std::int64_t b) {
            return decoder_layers(shape, {t, b, 2});
          }};
}

TransformerShape small(std::int64_t layers = 4, bool fused = false) {
  TransformerShape shape;
  shape.layers = layers;
  shape.width = 24;
  shape.heads = 4;
  shape.vocabulary = 50;
  shape.sequence = 6;
  shape.fused_attention = fused;
  return shape;
}

/// A layer whose figures are easily added up: 100 bytes of state, 40 more kept, 7 of
/// workspace, 10 parameters.
LayeredModel plain_chain(std::int64_t layers) {
  Layer layer;
  layer.name = "plain";
  layer.parameters = 10;
  layer.tensors = {{"in", 100},  {"out", 100}, {"dout", 100},
                   {"din", 100}, {"kept", 40}, {"passing", 30}};
  layer.forward = {{"a", {kInput}, {4, 5}, 1e9, 0, 7, 0}, {"b", {5}, {kOutput}, 1e9}};
  layer.backward = {{"c", {kInput, 4, kOutputGradient}, {kInputGradient}, 4e9}};
  return {{layer}, std::vector<std::int32_t>(static_cast<std::size_t>(layers), 0), {}};
}

StageSetting setting_of(const TrainingSetting& s, Cluster cluster = {}) {
  return {s.data, s.pipeline, s.tensor, s.zero, *optimiser_bytes("adam", true), cluster};
}

TEST(LayerMemory, IsThatOfAHandCheckedLayer) {
  const LayeredModel model = plain_chain(1);
  const Layer& layer = model.kinds[0];
  // Forward: in 100, kept 40, passing 30, workspace 7; then out 100 in place of the last.
  const LayerMemory stored = layer_memory(layer, {false, true});
  EXPECT_EQ(stored.forward_peak, 100 + 40 + 30 + 100);
  EXPECT_EQ(stored.kept, 140);
  EXPECT_EQ(stored.backward_peak, 100 + 40 + 100 + 100);
  const LayerMemory again = layer_memory(layer, {true, true});
  EXPECT_EQ(again.kept, 100);
  EXPECT_EQ(again.forward_peak, 100 + 30 + 100);  // kept is nobody's after a
  EXPECT_EQ(again.backward_peak, 100 + 40 + 100 + 100);
  EXPECT_EQ(recomputed_operators(layer), std::vector<std::int32_t>{0});
}

TEST(StageCosts, AreThoseOfAHandCheckedChain) {
  const LayeredModel model = plain_chain(3);
  Cluster cluster;
  cluster.rate = 1e9;
  cluster.memory_bandwidth = 1e18;
  const StageCosts costs(model, setting_of({}, cluster));
  const StageMemory memory = costs.memory({0, 2, 0});
  EXPECT_EQ(memory.persistent.all(), 16 * 30);
  EXPECT_EQ(memory.neighbours, 0);
  EXPECT_EQ(memory.kept, 3 * 140);
  EXPECT_EQ(memory.forward_peak, 2 * 140 + 270);
  EXPECT_EQ(memory.backward_peak, 2 * 140 + 340);
  EXPECT_EQ(memory.peak(2), 480 + 420 + 620);
  const StageTimes times = costs.times({0, 2, 2});
  EXPECT_EQ(times.forward, 6'000'000'000);
  EXPECT_EQ(times.backward, 12'000'000'000 + 2 * 1'000'000'000);
  EXPECT_EQ(costs.memory({1, 1, 0}).neighbours, 400);
}

TEST(StageCosts, GatherAndReduceTwoLayersAtATime) {
  const LayeredModel model = plain_chain(3);
  TrainingSetting setting;
  setting.data = 4;  // 10 parameters padded to 12: 24 bytes gathered, and of gradients
  setting.zero = ZeroStage::kParameters;
  const StageCosts costs(model, setting_of(setting));
  EXPECT_EQ(costs.memory({0, 2, 0}).gathered, 4 * 24);
  EXPECT_EQ(costs.memory({0, 2, 0}).persistent.all(), 16 * 9);
  EXPECT_EQ(costs.memory({0, 0, 0}).gathered, 2 * 24);
  setting.zero = ZeroStage::kGradients;
  EXPECT_EQ(StageCosts(model, setting_of(setting)).memory({0, 2, 0}).gathered, 2 * 24);
}

TEST(Transformer, HasTheParametersOfGpt2Xl) {
  const TransformerShape shape = transformer_shape("gpt2-xl");
  EXPECT_EQ(parameters_of(shape), 1'557'611'200);
  EXPECT_EQ(parameters_of(transformer_shape("gpt2")), 124'439'808);
  const LayeredModel model = decoder_layers(shape, {1, 1, 2});
  EXPECT_EQ(parameters_of(model), parameters_of(shape));
}

TEST(Transformer, DividesProductsAmongATensorGroup) {
  const TransformerShape shape = transformer_shape("layers=2,width=64,heads=8");
  const LayeredModel one = decoder_layers(shape, {1, 2, 2});
  const LayeredModel four = decoder_layers(shape, {4, 2, 2});
  const auto flops = [](const LayeredModel& model) {
    Flops sum = 0;
    for (const auto* operators : {&model.layer(1).forward, &model.layer(1).backward})
      for (const LayerOperator& op : *operators) sum += op.flops;
    return sum;
  };
  EXPECT_DOUBLE_EQ(flops(four), flops(one) / 4);
  // 12 h^2 and 7 h are divided, 6 h are not.
  EXPECT_EQ(four.layer(1).parameters, 12 * 64 * 64 / 4 + 7 * 64 / 4 + 6 * 64);
  EXPECT_EQ(four.layer(0).parameters, (50257 + 3) / 4 * 64 + 1024 * 64);
  int reduced = 0;
  for (const auto* operators : {&four.layer(1).forward, &four.layer(1).backward})
    for (const LayerOperator& op : *operators)
      if (op.reduced > 0) {
        EXPECT_EQ(op.reduced, 2 * 2 * 1024 * 64);
        ++reduced;
      }
  EXPECT_EQ(reduced, 4);
  EXPECT_FALSE(why_not_split(shape, 3).empty());
  EXPECT_TRUE(why_not_split(shape, 8).empty());
}

TEST(Transformer, RefusesSizesThatAreNone) {
  for (const char* text : {"heads=5", "layers=0", "width=0"}) {
    EXPECT_THROW((void)parameters_of(transformer_shape(text)), InvalidInput) << text;
  }
}

TEST(OperatorLayers, OfAHandCheckedPerceptron) {
  // x (2, 8) -> Gemm 8 x 16 -> Relu -> Gemm 16 x 4 -> loss, floats of 4 bytes.
  const LayeredModel model = operator_layers(support::perceptron(2));
  EXPECT_EQ(parameters_of(model), 8 * 16 + 16 + 16 * 4 + 4);
  EXPECT_TRUE(model.ties.empty());
  ASSERT_EQ(model.size(), 4);
  EXPECT_EQ(model.layer(1).tensors[kInput].size, 2 * 16 * 4);
  EXPECT_EQ(model.layer(1).tensors[kInputGradient].size, 2 * 16 * 4);
  EXPECT_EQ(model.layer(1).parameters, 0);
  EXPECT_TRUE(needs_output(model.layer(1)));  // Relu's gradient reads what it wrote
  EXPECT_FALSE(needs_input(model.layer(1)));
  EXPECT_TRUE(needs_input(model.layer(2)));
  EXPECT_EQ(model.layer(3).tensors[kInput].size, 2 * 4 * 4);
  const LayeredModel half = operator_layers(support::perceptron(2), {64, true});
  EXPECT_EQ(half.layer(1).tensors[kInput].size, 2 * 16 * 2);
  EXPECT_EQ(operator_layers(support::perceptron(2), {2, false}).size(), 2);
}

TEST(OperatorLayers, AreNotCutInsideAResidual) {
  support::ModelBuilder model;
  const TensorId x = model.input("x", {2, 8});
  TensorId state = model.op("Gemm", {x, model.weight("w", {8, 8})}, {2, 8});
  for (int block = 0; block < 3; ++block) {
    const std::string name = "w" + std::to_string(block);
    const TensorId inner = model.op("Gemm", {state, model.weight(name, {8, 8})}, {2, 8});
    const TensorId active = model.op("Relu", {inner}, {2, 8});
    state = model.op("Add", {state, active}, {2, 8});
  }
  const LayeredModel layers = operator_layers(model.build(state));
  EXPECT_EQ(layers.size(), 1 + 3 + 1);  // the first product, the blocks, the loss
  EXPECT_EQ(parameters_of(layers), 4 * 64);
  const TrainingSetting setting{
      1, 3, 1, 1, 5, ZeroStage::kNone, PipelineScheme::kOneForwardOneBackward};
  const StageCosts costs(layers, setting_of(setting));
  const auto plan = plan_setting(costs, setting, kPlenty);
  ASSERT_TRUE(plan);
  EXPECT_EQ(validate_training_plan(costs, *plan), Violations{});
}

TEST(OperatorLayers, OfATransformerHaveItsParametersAndWork) {
  TransformerShape shape = small();
  shape.dropout = 0;
  shape.batch = 3;
  const LayeredModel model = operator_layers(transformer(shape));
  EXPECT_EQ(parameters_of(model), parameters_of(shape));
  ASSERT_EQ(model.ties.size(), 1U);
  EXPECT_EQ(model.ties[0].first, 0);
  EXPECT_EQ(model.ties[0].parameters, shape.vocabulary * shape.width);
  const auto products = [](const LayeredModel& layers) {
    Flops flops = 0;
    for (std::int64_t i = 0; i < layers.size(); ++i) {
      for (const auto* operators : {&layers.layer(i).forward, &layers.layer(i).backward})
        for (const LayerOperator& op : *operators) flops += op.flops;
    }
    return flops;
  };
  // The rest is what is done element by element.
  const Flops own = products(decoder_layers(shape, {1, 3, 4}));
  EXPECT_GT(products(model), own);
  EXPECT_LT(products(model), 1.6 * own);
}

TEST(OperatorLayers, NeedWhatTheBuffersOfEveryProcessNeed) {
  TransformerShape shape = small();
  const LayeredModel model = operator_layers(transformer(shape));
  for (const std::int32_t pipeline : {1, 2, 3}) {
    for (const int zero : {0, 3}) {
      const TrainingSetting setting{2,
                                    pipeline,
                                    1,
                                    1,
                                    4,
                                    static_cast<ZeroStage>(zero),
                                    PipelineScheme::kOneForwardOneBackward};
      const StageCosts costs(model, setting_of(setting));
      for (Bytes bound = kPlenty; bound > 0; bound = bound == kPlenty ? 1 : 0) {
        auto plan = plan_setting(costs, setting, bound);
        if (!plan) plan = plan_setting(costs, setting, plan.error().least_bytes);
        ASSERT_TRUE(plan);
        EXPECT_EQ(validate_training_plan(costs, *plan), Violations{})
            << describe(setting) << ", " << plan->peak_bytes();
      }
    }
  }
}

/// Settings of all kinds for a small transformer.
template <class Each>
void for_settings(const Each& each) {
  for (const bool fused : {false, true})
    for (const std::int32_t tensor : {1, 2, 4})
      for (const std::int32_t pipeline : {1, 2, 3})
        for (const std::int32_t data : {1, 3})
          for (int zero = 0; zero <= (data > 1 ? 3 : 0); ++zero)
            for (const PipelineScheme scheme :
                 {PipelineScheme::kGpipe, PipelineScheme::kOneForwardOneBackward}) {
              const TrainingSetting setting{
                  data, pipeline, tensor, 2, 4, static_cast<ZeroStage>(zero), scheme};
              each(decoder_layers(small(4, fused), {tensor, 2, 2}), setting);
            }
}

TEST(TrainingPlan, NeedsWhatTheBuffersOfEveryProcessNeed) {
  std::mt19937 random(5);
  for_settings([&](const LayeredModel& model, const TrainingSetting& setting) {
    const StageCosts costs(model, setting_of(setting));
    std::vector<StagePart> parts;
    for (std::int64_t first = 0; first < model.size();) {
      const std::int64_t left = setting.pipeline - std::ssize(parts) - 1;
      const std::int64_t most = model.size() - left - first;
      const std::int64_t count =
          left == 0 ? most : 1 + static_cast<std::int64_t>(random()) % most;
      parts.push_back(
          {first, first + count - 1, static_cast<std::int64_t>(random()) % (count + 1)});
      first += count;
    }
    const TrainingPlan plan = training_plan(costs, setting, parts);
    EXPECT_EQ(validate_training_plan(costs, plan), Violations{})
        << describe(setting) << ", " << parts[0].last << " " << parts[0].recomputed;
  });
}

TEST(TrainingPlan, ShowsAllThatProcessesHoldInItsFirstMicroBatches) {
  for_settings([&](const LayeredModel& model, TrainingSetting setting) {
    setting.micro_batches = 9;
    const StageCosts costs(model, setting_of(setting));
    std::vector<StagePart> parts;
    for (std::int64_t s = 0; s < setting.pipeline; ++s) parts.push_back({s, s, s % 2});
    parts.back().last = model.size() - 1;
    const TrainingPlan plan = training_plan(costs, setting, parts);
    const TrainingPlan first = first_micro_batches(plan);
    for (std::int32_t s = 0; s < setting.pipeline; ++s)
      EXPECT_EQ(load_of(rank_buffers(costs, first, s).buffers),
                load_of(rank_buffers(costs, plan, s).buffers))
          << describe(setting) << ", stage " << s;
  });
}

// Operators that read some of what is there, forward and backward.
Layer random_layer(std::mt19937& random, std::string name) {
  const auto upto = [&](int most) { return static_cast<int>(random() % (most + 1u)); };
  Layer layer;
  layer.name = std::move(name);
  layer.parameters = upto(20);
  const Bytes state = 5, gradient = 4;
  layer.tensors = {{"in", state}, {"out", state}, {"dout", gradient}, {"din", gradient}};
  std::vector<std::int32_t> there = {kInput};
  const auto some = [&](const std::vector<std::int32_t>& from) {
    std::vector<std::int32_t> chosen;
    for (const std::int32_t tensor : from)
      if (upto(2) == 0) chosen.push_back(tensor);
    return chosen;
  };
  const auto fresh = [&](int size) {
    layer.tensors.push_back({"t", size});
    return static_cast<std::int32_t>(layer.tensors.size()) - 1;
  };
  for (int op = upto(4); op >= 0; --op) {
    LayerOperator next{"f", some(there), {}, 1e9, 0, upto(6), 0};
    next.writes = {op == 0 ? kOutput : fresh(upto(9))};
    layer.forward.push_back(next);
    there.push_back(next.writes[0]);
  }
  there.push_back(kOutputGradient);
  for (int op = upto(4); op >= 0; --op) {
    LayerOperator next{"b", some(there), {}, 1e9, 0, upto(6), 0};
    next.writes = {op == 0 ? kInputGradient : fresh(upto(9))};
    layer.backward.push_back(next);
    there.push_back(next.writes[0]);
  }
  return layer;
}

TEST(TrainingPlan, OfAnyLayersNeedsWhatTheBuffersNeed) {
  std::mt19937 random(11);
  const auto upto = [&](int most) { return static_cast<int>(random() % (most + 1u)); };
  for (int instance = 0; instance < 400; ++instance) {
    LayeredModel model;
    for (int k = 0; k < 3; ++k)
      model.kinds.push_back(random_layer(random, std::to_string(k)));
    for (int i = 2 + upto(3); i >= 0; --i) model.layers.push_back(upto(2));
    check(model);
    TrainingSetting setting{1 + upto(2),
                            1 + upto(1),
                            1,
                            1,
                            1 + upto(4),
                            ZeroStage::kNone,
                            PipelineScheme::kOneForwardOneBackward};
    if (setting.data > 1) setting.zero = static_cast<ZeroStage>(upto(3));
    const StageCosts costs(model, setting_of(setting));
    const std::int64_t last = model.size() - 1;
    std::vector<StagePart> parts = {{0, last, upto(static_cast<int>(last) + 1)}};
    if (setting.pipeline == 2)
      parts = {{0, 0, upto(1)}, {1, last, upto(static_cast<int>(last))}};
    const TrainingPlan plan = training_plan(costs, setting, parts);
    ASSERT_EQ(validate_training_plan(costs, plan), Violations{})
        << "instance " << instance << ", " << describe(setting);
  }
}

// The first micro-batches show all that 1f1b ever holds: memory is checked at once, where
// a replay of the times would take minutes.
TEST(TrainingPlan, TheMemoryOfAnyNumberOfMicroBatchesIsChecked) {
  const LayeredModel model = decoder_layers(small(), {1, 1, 2});
  const TrainingSetting few{
      1, 2, 1, 1, 4, ZeroStage::kNone, PipelineScheme::kOneForwardOneBackward};
  const StageCosts costs(model, setting_of(few));
  TrainingPlan plan = training_plan(costs, few, {{0, 2, 3}, {3, 5, 0}});
  plan.setting.micro_batches = 1'000'000'000;
  EXPECT_EQ(validate_training_memory(costs, plan), Violations{});
  ++plan.stages[1].peak_bytes;
  EXPECT_EQ(validate_training_memory(costs, plan).size(), 1U);
}

TEST(TrainingPlan, IsRefusedByTheValidatorWhenChanged) {
  const LayeredModel model = decoder_layers(small(), {1, 1, 2});
  const TrainingSetting setting{
      1, 2, 1, 1, 4, ZeroStage::kNone, PipelineScheme::kOneForwardOneBackward};
  const StageCosts costs(model, setting_of(setting));
  const TrainingPlan plan = training_plan(costs, setting, {{0, 2, 3}, {3, 5, 0}});
  const auto refused = [&](const auto& change) {
    TrainingPlan wrong = plan;
    change(wrong);
    EXPECT_FALSE(validate_training_plan(costs, wrong).empty());
  };
  refused([](TrainingPlan& p) { --p.stages[0].peak_bytes; });
  refused([](TrainingPlan& p) { ++p.stages[1].part.first; });
  refused([](TrainingPlan& p) { --p.stages[1].part.last; });
  refused([](TrainingPlan& p) { p.stages[0].part.recomputed = 0; });
  refused([](TrainingPlan& p) { --p.step; });
  refused([](TrainingPlan& p) { p.stages.pop_back(); });
  EXPECT_THROW((void)training_plan(costs, setting, {{0, 5, 0}}), InvalidInput);
  EXPECT_THROW((void)training_plan(costs, setting, {{0, 2, 0}, {4, 5, 0}}), InvalidInput);
}

TrainingQuestion question_of(std::int32_t processes, std::int64_t batch, Bytes bound) {
  TrainingQuestion question;
  question.processes = processes;
  question.batch = batch;
  question.bound = bound;
  question.optimiser = *optimiser_bytes("adam", true);
  question.cluster.rate = 1e9;
  question.cluster.memory_bandwidth = 1e9;
  question.cluster.network = {1e-6, 1e8};
  return question;
}

TEST(PlanTraining, OfOneProcessIsThePlanOfTheWholeModel) {
  const TrainingModel model = model_of(small());
  const TrainingPlans plans = plan_training(model, question_of(1, 8, kPlenty));
  ASSERT_EQ(plans.plans.size(), 4U);  // micro-batches of 1, 2, 4, 8
  for (const TrainingPlan& plan : plans.plans) {
    EXPECT_EQ(plan.stages.size(), 1U);
    const LayeredModel layers = model.split(1, plan.setting.micro_batch);
    const StageCosts costs(layers,
                           setting_of(plan.setting, question_of(1, 8, 0).cluster));
    const StagePart whole{0, layers.size() - 1, 0};
    EXPECT_EQ(plan.stages[0].memory.persistent.all(), 16 * model.parameters);
    EXPECT_EQ(plan.peak_bytes(), costs.memory(whole).peak(1));
    const StageTimes times = costs.times(whole);
    EXPECT_EQ(plan.step, plan.setting.micro_batches * (times.forward + times.backward) +
                             times.update);
  }
}

TEST(PlanTraining, SaysForEverySettingWhatBecameOfIt) {
  const TrainingModel model = model_of(small());
  const TrainingPlans plans = plan_training(model, question_of(12, 8, kPlenty));
  // 12 = d p t: t of 3, 6, 12 does not divide 4 heads; d of 3, 6, 12 not a batch of 8;
  // 12 stages are more than 6 layers.
  for (const RejectedSetting& rejected : plans.rejected) {
    const TrainingSetting& s = rejected.setting;
    switch (rejected.reason) {
      case RejectedSetting::Reason::kTensor:
        EXPECT_NE(4 % s.tensor, 0);
        break;
      case RejectedSetting::Reason::kLayers:
        EXPECT_GT(s.pipeline, 6);
        break;
      case RejectedSetting::Reason::kBatch:
        EXPECT_NE(8 % s.data, 0);
        break;
      case RejectedSetting::Reason::kMemory:
        ADD_FAILURE() << describe(s);
    }
    EXPECT_FALSE(rejected.why.empty());
  }
  std::int64_t expected = 0;
  for (const std::int64_t t : {1, 2, 4})
    for (const std::int64_t p : {1, 2, 3, 6})
      if (12 % (t * p) == 0 && 8 % (12 / (t * p)) == 0) {
        const std::int64_t d = 12 / (t * p);
        expected += std::ssize(divisors(8 / d)) * (d > 1 ? 4 : 1);
      }
  EXPECT_EQ(std::ssize(plans.plans), expected);
}

// Over every cut and every number of recomputed layers; the largest number: none fits.
Nanoseconds best_step(const StageCosts& costs, const TrainingSetting& setting,
                      std::int64_t layers, Bytes bound) {
  Nanoseconds best = std::numeric_limits<Nanoseconds>::max();
  std::vector<StagePart> parts;
  std::function<void(std::int64_t)> from = [&](std::int64_t first) {
    if (std::ssize(parts) == setting.pipeline) {
      if (first != layers) return;
      const TrainingPlan plan = training_plan(costs, setting, parts);
      if (plan.peak_bytes() <= bound) best = std::min(best, plan.step);
      return;
    }
    for (std::int64_t last = first; last < layers; ++last)
      for (std::int64_t again = 0; again <= last - first + 1; ++again) {
        parts.push_back({first, last, again});
        from(last + 1);
        parts.pop_back();
      }
  };
  from(0);
  return best;
}

// None that fits is faster by more than what the family of cuts leaves out, and with one
// stage none is.
TEST(PlanTraining, IsTheBestOfAllThatCanBeEnumerated) {
  std::mt19937 random(7);
  const LayeredModel model = decoder_layers(small(3), {1, 1, 2});
  for (int instance = 0; instance < 60; ++instance) {
    const TrainingSetting setting{1,
                                  1 + instance % 3,
                                  1,
                                  1,
                                  4,
                                  ZeroStage::kNone,
                                  PipelineScheme::kOneForwardOneBackward};
    const StageCosts costs(model, setting_of(setting, question_of(1, 1, 0).cluster));
    const Bytes most = plan_setting(costs, setting, kPlenty)->peak_bytes();
    const Bytes bound = most * static_cast<Bytes>(60 + random() % 45) / 100;
    const Nanoseconds best = best_step(costs, setting, model.size(), bound);
    const auto found = plan_setting(costs, setting, bound);
    ASSERT_EQ(found.has_value(), best < std::numeric_limits<Nanoseconds>::max())
        << "instance " << instance;
    if (!found) {
      EXPECT_GT(found.error().least_bytes, bound);
      continue;
    }
    EXPECT_LE(found->peak_bytes(), bound);
    EXPECT_GE(found->step, best);
    EXPECT_LE(static_cast<double>(found->step), 1.05 * static_cast<double>(best))
        << "instance " << instance;
    if (setting.pipeline == 1) {
      EXPECT_EQ(found->step, best) << "instance " << instance;
    }
  }
}

TEST(PlanTraining, MoreMemoryIsNeverSlower) {
  const TrainingModel model = model_of(small(6));
  const Bytes most =
      plan_training(model, question_of(8, 16, kPlenty)).plans.front().peak_bytes();
  Nanoseconds last = std::numeric_limits<Nanoseconds>::max();
  std::size_t fitting = 0;
  for (Bytes bound = most / 8; bound <= most; bound += most / 16) {
    const TrainingPlans plans = plan_training(model, question_of(8, 16, bound));
    EXPECT_GE(plans.plans.size(), fitting);
    fitting = plans.plans.size();
    if (plans.plans.empty()) continue;
    EXPECT_LE(plans.plans.front().step, last) << bound;
    EXPECT_GE(plans.plans.front().step, plans.lower_bound);
    last = plans.plans.front().step;
    for (const TrainingPlan& plan : plans.plans) EXPECT_LE(plan.peak_bytes(), bound);
  }
  EXPECT_GT(fitting, 0U);
}

TEST(PlanTraining, WhatIsSaidToSufficeDoes) {
  const TrainingModel model = model_of(small(6));
  const TrainingPlans plans = plan_training(model, question_of(4, 4, 1));
  EXPECT_TRUE(plans.plans.empty());
  for (const RejectedSetting& rejected : plans.rejected) {
    if (rejected.reason != RejectedSetting::Reason::kMemory) continue;
    const TrainingSetting& s = rejected.setting;
    const LayeredModel layers = model.split(s.tensor, s.micro_batch);
    const StageCosts costs(layers, setting_of(s, question_of(1, 1, 1).cluster));
    EXPECT_TRUE(plan_setting(costs, s, rejected.least_bytes)) << describe(s);
    EXPECT_FALSE(plan_setting(costs, s, rejected.least_bytes - 1)) << describe(s);
  }
}

TEST(PlanTraining, RefusesBadQuestions) {
  const TrainingModel model = model_of(small());
  EXPECT_THROW((void)plan_training(model, question_of(0, 8, 1)), InvalidInput);
  EXPECT_THROW((void)plan_training(model, question_of(1, 0, 1)), InvalidInput);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
