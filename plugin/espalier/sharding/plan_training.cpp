#include "espalier/sharding/plan_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

namespace espalier {

namespace {

using Reason = RejectedSetting::Reason;

/// Flops of one sample, forward and backward, nothing computed twice.
Flops flops_of(const LayeredModel& model) {
  Flops sum = 0;
  for (std::int64_t i = 0; i < model.size(); ++i)
    for (const auto* operators : {&model.layer(i).forward, &model.layer(i).backward})
      for (const LayerOperator& op : *operators) sum += op.flops;
  return sum;
}

class Enumeration {
 public:
  Enumeration(const TrainingModel& model, const TrainingQuestion& question)
      : model_(model), question_(question) {}

  TrainingPlans run() {
    const std::vector<std::int64_t> tensors = divisors(question_.processes);
    for (std::size_t k = 0; k < tensors.size() && !result_.stopped; ++k) {
      done_ = static_cast<double>(k) / static_cast<double>(tensors.size());
      share_ = 1 / static_cast<double>(tensors.size());
      with_tensor(static_cast<std::int32_t>(tensors[k]));
    }
    result_.sort();
    result_.lower_bound = static_cast<Nanoseconds>(
        1e9 * flops_of(model_.split(1, 1)) * static_cast<double>(question_.batch) /
        (question_.cluster.rate * question_.processes));
    return std::move(result_);
  }

 private:
  void reject(const TrainingSetting& setting, Reason reason, std::string why,
              Bytes least = 0) {
    result_.rejected.push_back({setting, reason, std::move(why), least, false});
  }

  void with_tensor(std::int32_t tensor) {
    const std::int32_t rest = question_.processes / tensor;
    const std::string why = model_.why_not_split(tensor);
    std::vector<TrainingSetting> grids;
    for (const std::int64_t pipeline : divisors(rest)) {
      TrainingSetting grid;
      grid.tensor = tensor;
      grid.pipeline = static_cast<std::int32_t>(pipeline);
      grid.data = rest / grid.pipeline;
      if (!why.empty()) {
        reject(grid, Reason::kTensor, why);
      } else if (pipeline > model_.layers) {
        reject(grid, Reason::kLayers,
               fmt::format("{} stages for {} layers", pipeline, model_.layers));
      } else if (question_.batch % grid.data != 0) {
        reject(grid, Reason::kBatch,
               fmt::format("{} ranks do not divide a batch of {}", grid.data,
                           question_.batch));
      } else {
        grids.push_back(grid);
      }
    }
    with_micro_batches(grids);
  }

  // One split of the model serves every grid of the same tensor group.
  void with_micro_batches(const std::vector<TrainingSetting>& grids) {
    const std::vector<std::int64_t> samples = divisors(question_.batch);
    for (std::size_t k = 0; k < samples.size() && !grids.empty(); ++k) {
      if (question_.progress &&
          !question_.progress(done_ + share_ * static_cast<double>(k) /
                                          static_cast<double>(samples.size()))) {
        result_.stopped = true;
        return;
      }
      const std::int64_t micro_batch = samples[k];
      std::optional<LayeredModel> model;
      for (TrainingSetting setting : grids) {
        const std::int64_t own = question_.batch / setting.data;
        if (own % micro_batch != 0) continue;
        setting.micro_batch = micro_batch;
        setting.micro_batches = static_cast<std::int32_t>(own / micro_batch);
        if (!model) model = model_.split(setting.tensor, micro_batch);
        with_setting(*model, setting);
      }
    }
  }

  void with_setting(const LayeredModel& model, TrainingSetting setting) {
    for (const ZeroStage zero : question_.zero) {
      if (setting.data == 1 && zero != question_.zero.front()) continue;
      setting.zero = setting.data == 1 ? ZeroStage::kNone : zero;
      const StageCosts costs(
          model, {setting.data, setting.pipeline, setting.tensor, setting.zero,
                  question_.optimiser, question_.cluster});
      for (const PipelineScheme schedule : question_.schedules) {
        if (setting.pipeline == 1 && schedule != question_.schedules.front()) continue;
        setting.schedule = schedule;
        Expected<TrainingPlan> plan = plan_setting(costs, setting, question_.bound);
        if (plan) {
          result_.plans.push_back(std::move(*plan));
        } else {
          const Bytes least = plan.error().least_bytes;
          reject(setting, Reason::kMemory,
                 fmt::format("needs {}, {} too much", format_size(least),
                             format_size(least - question_.bound)),
                 least);
        }
      }
    }
  }

  const TrainingModel& model_;
  const TrainingQuestion& question_;
  TrainingPlans result_;
  double done_ = 0, share_ = 0;  // of the progress
};

}  // namespace

std::string_view name(RejectedSetting::Reason reason) {
  switch (reason) {
    case Reason::kBatch:
      return "batch";
    case Reason::kTensor:
      return "tensor";
    case Reason::kLayers:
      return "layers";
    case Reason::kMemory:
      return "memory";
  }
  return "?";
}

void TrainingPlans::sort() {
  std::ranges::sort(plans, {}, [](const TrainingPlan& plan) {
    const TrainingSetting& s = plan.setting;
    return std::tuple(plan.step, plan.peak_bytes(), s.tensor, s.pipeline, s.micro_batch,
                      s.zero, s.schedule);
  });
  std::ranges::stable_sort(rejected, {}, [](const RejectedSetting& setting) {
    return std::pair(setting.reason != Reason::kMemory, setting.least_bytes);
  });
}

std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> low, high;
  for (std::int64_t k = 1; k <= n / k; ++k) {
    if (n % k != 0) continue;
    low.push_back(k);
    if (k != n / k) high.push_back(n / k);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

TrainingPlans plan_training(const TrainingModel& model,
                            const TrainingQuestion& question) {
  if (question.processes < 1)
    throw InvalidInput(fmt::format("{} processes", question.processes));
  if (question.batch < 1 || question.batch > 1 << 24)
    throw InvalidInput(fmt::format("a batch of {}: expected 1 to 2^24", question.batch));
  return Enumeration(model, question).run();
}

}  // namespace espalier
