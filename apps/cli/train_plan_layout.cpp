#include "cli/train_plan_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "espalier/layout/layout.h"
#include "espalier/model/error.h"
#include "espalier/sharding/rank_memory.h"

namespace espalier::cli {
namespace {

using Reason = RejectedSetting::Reason;

constexpr std::int64_t kMostBuffers = 200'000;
constexpr std::int64_t kMostReplayed = 2'000'000;  // micro-batches, of all stages

/// What a process of the stage holds for a while in the whole step; nothing where that is
/// more than kMostBuffers. One stage alone holds the same for each micro-batch, one after
/// the other.
std::optional<BufferSet> buffers_of(const StageCosts& costs, const TrainingPlan& plan,
                                    std::int32_t stage) {
  const TrainingPlan first = first_micro_batches(plan);
  RankBuffers rank = rank_buffers(costs, first, stage);
  const bool repeats = plan.setting.pipeline == 1;
  const std::int64_t each = std::ssize(rank.buffers) / first.setting.micro_batches;
  const std::int64_t batches = repeats ? 1 : plan.setting.micro_batches;
  if (each * batches > kMostBuffers) return std::nullopt;
  if (batches > first.setting.micro_batches) rank = rank_buffers(costs, plan, stage);
  return BufferSet(std::move(rank.buffers));
}

/// Replays every process of the plan by itself, as far as that does not take too long.
PlanReplay replay(const StageCosts& costs, const TrainingPlan& plan) {
  const TrainingPlan first = first_micro_batches(plan);
  const auto few = [](const TrainingPlan& of) {
    return std::int64_t{of.setting.pipeline} * of.setting.micro_batches <= kMostReplayed;
  };
  if (!few(first)) return PlanReplay::kNone;
  const Violations wrong = few(plan) ? validate_training_plan(costs, plan)
                                     : validate_training_memory(costs, plan);
  if (!wrong.empty()) throw std::logic_error("the plan is not valid: " + wrong.front());
  return few(plan) ? PlanReplay::kWhole : PlanReplay::kMemory;
}

/// Lays out what every process of the plan holds for a while.
/// @return by stage: fixed bytes and the capacity of the layout; empty where it would
///         take too long
std::vector<Bytes> lay_out(const StageCosts& costs, const TrainingPlan& plan,
                           Bytes bound) {
  std::vector<Bytes> bytes;
  for (std::int32_t s = 0; s < plan.setting.pipeline; ++s) {
    const std::optional<BufferSet> buffers = buffers_of(costs, plan, s);
    if (!buffers) return {};
    const Bytes fixed = plan.stages[static_cast<std::size_t>(s)].memory.fixed();
    LayoutOptions options;
    options.capacity = bound - fixed;
    options.time = 1;
    options.steps = 1000;
    bytes.push_back(checked_add(fixed, layout(*buffers, options).capacity_bytes));
  }
  return bytes;
}

/// With what its processes were laid out in, or what they need where they were not.
Bytes most_of(const TrainingPlan& plan, const std::vector<Bytes>& layouts) {
  return layouts.empty() ? plan.peak_bytes() : *std::ranges::max_element(layouts);
}

std::string too_much(Bytes needed, Bytes bound) {
  return fmt::format("the layout found needs {}, {} too much", format_size(needed),
                     format_size(needed - bound));
}

}  // namespace

PlannedCosts::PlannedCosts(const TrainingModel& model, const TrainingQuestion& question,
                           const TrainingSetting& setting)
    : layers(model.split(setting.tensor, setting.micro_batch)),
      costs(layers, {setting.data, setting.pipeline, setting.tensor, setting.zero,
                     question.optimiser, question.cluster}) {}

void choose_what_can_be_laid_out(const TrainingModel& model, TrainPlanReport& report) {
  TrainingPlans& answer = report.answer;
  const Bytes bound = report.question.bound;
  while (!answer.plans.empty()) {
    TrainingPlan& best = answer.plans.front();
    const PlannedCosts planned(model, report.question, best.setting);
    report.replay = replay(planned.costs, best);
    report.layout_bytes = lay_out(planned.costs, best, bound);
    const Bytes most = most_of(best, report.layout_bytes);
    if (most <= bound) return;
    Expected<TrainingPlan> less =
        plan_setting(planned.costs, best.setting, best.peak_bytes() - 1);
    if (less) {
      best = std::move(*less);
    } else {
      answer.rejected.push_back({best.setting, Reason::kMemory,
                                 "fits, but " + too_much(most, bound), most, true});
      answer.plans.erase(answer.plans.begin());
    }
    answer.sort();
  }
  report.layout_bytes.clear();
}

void lay_out_what_fell_out(const TrainingModel& model, TrainPlanReport& report) {
  std::vector<RejectedSetting>& rejected = report.answer.rejected;
  const Bytes bound = report.question.bound;
  while (!rejected.empty()) {
    RejectedSetting& nearest = rejected.front();
    if (nearest.reason != Reason::kMemory || nearest.laid_out) return;
    const PlannedCosts planned(model, report.question, nearest.setting);
    const Bytes least = nearest.least_bytes;
    const TrainingPlan plan = *plan_setting(planned.costs, nearest.setting, least);
    nearest.laid_out = true;
    (void)replay(planned.costs, plan);
    nearest.least_bytes = most_of(plan, lay_out(planned.costs, plan, least));
    if (nearest.least_bytes > least) nearest.why = too_much(nearest.least_bytes, bound);
    report.answer.sort();
  }
}

std::optional<Bytes> sufficient_bound(const TrainingModel& model,
                                      TrainPlanReport& report) {
  report.answer = plan_training(model, report.question);
  choose_what_can_be_laid_out(model, report);
  if (!report.answer.plans.empty()) return report.question.bound;
  lay_out_what_fell_out(model, report);
  return least_of(report.answer);
}

}  // namespace espalier::cli
