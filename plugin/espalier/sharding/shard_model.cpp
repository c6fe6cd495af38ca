#include "espalier/sharding/shard_model.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace espalier {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

constexpr std::size_t kLongestPeriod = 16;
constexpr std::int32_t kOperatorsAPart = 1 << 10;
constexpr int kPriceSteps = 60;
constexpr double kPairsAStep = 2e6;  // of plans that are compared

// Parts first … first + period, `count` times.
struct Run {
  std::size_t first, period, count;
};

// Greedy from the left: the period that covers most.
std::vector<Run> runs_of(const std::vector<std::int32_t>& sequence, bool fold) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < sequence.size();) {
    Run best{i, 1, 1};
    for (std::size_t p = 1; fold && p <= kLongestPeriod && i + p <= sequence.size();
         ++p) {
      std::size_t end = i + p;
      while (end < sequence.size() && sequence[end] == sequence[end - p]) ++end;
      const std::size_t count = (end - i) / p;
      if (count > 1 && count * p > best.count * best.period) best = {i, p, count};
    }
    runs.push_back(best);
    i += best.period * best.count;
  }
  return runs;
}

// The whole model's table, for one price or for fronts.
class Assembly {
 public:
  Assembly(const ShardedModel& model, bool fold, std::optional<double> price,
           std::size_t most)
      : model_(model), fold_(fold), tables_(model.setting, price, most) {}

  // The best plans over all states at both ends.
  PlanFront plans() {
    std::vector<PlanTable> parts;
    if (fold_)
      for (std::size_t k = 0; k < model_.parts.size(); ++k) parts.push_back(part(k));
    PlanTable whole = tables_.nothing();
    for (const Run& run : runs_of(model_.sequence, fold_)) {
      PlanTable stretch = tables_.nothing();
      for (std::size_t k = run.first; k < run.first + run.period; ++k) {
        const std::size_t number = at(model_.sequence[k]);
        stretch = tables_.join(stretch, fold_ ? parts[number] : part(number));
      }
      whole = tables_.join(whole, tables_.repeat(stretch, std::int64_t(run.count)));
    }
    PlanFront all;
    for (const PlanFront& front : whole.fronts)
      all.insert(all.end(), front.begin(), front.end());
    return all;
  }

  [[nodiscard]] bool thinned() const { return tables_.thinned(); }
  [[nodiscard]] const PlanTables& tables() const { return tables_; }

 private:
  PlanTable part(std::size_t number) {
    const ModelPart& part = model_.parts[number];
    PlanTable table = tables_.nothing();
    for (std::size_t k = 0; k < part.operators.size(); ++k) {
      const ShardedOperator& op = part.operators[k];
      const PlanTable own = tables_.one(
          op, static_cast<std::int32_t>(number) * kOperatorsAPart + std::int32_t(k));
      table = tables_.join(tables_.join(table, tables_.reshard(op.width)), own);
    }
    return part.residual ? tables_.add_input(table, part.operators.front().width) : table;
  }

  const ShardedModel& model_;
  bool fold_;
  PlanTables tables_;
};

const PlanPoint* cheapest(const PlanFront& plans, Bytes limit) {
  const PlanPoint* best = nullptr;
  for (const PlanPoint& plan : plans)
    if (plan.memory <= limit && (best == nullptr || plan.cost < best->cost)) best = &plan;
  return best;
}

class Search {
 public:
  Search(const ShardedModel& model, Bytes limit, bool fold)
      : model_(model), limit_(limit), fold_(fold) {}

  ModelShards run() {
    answer_.distinct_parts = std::ssize(model_.parts);
    const PlanPoint fastest = try_price(0);
    if (answer_.found) return std::move(answer_);
    PlanPoint dear = fastest;
    double low = 0, high = 0;
    // A price at which the plan fits, if there is one.
    for (double price = 1e-6; price < 1e15 && dear.memory > limit_; price *= 8) {
      dear = try_price(price);
      (dear.memory > limit_ ? low : high) = price;
    }
    answer_.least_memory_bytes = dear.memory;
    for (int k = 0; k < kPriceSteps && answer_.found && !answer_.proved(); ++k) {
      // Where the bounds of both prices' plans cross, or in the middle.
      const double price =
          low > 0 && k % 2 == 1 ? std::sqrt(low * high) : (low + high) / 2;
      (try_price(price).memory > limit_ ? low : high) = price;
      if (high - low < 1e-12 * high) break;
    }
    if (!answer_.proved()) fronts();
    return std::move(answer_);
  }

 private:
  // The plan of least cost and price of memory, and the bound that it gives.
  PlanPoint try_price(double price) {
    Assembly assembly(model_, fold_, price, 1);
    const PlanFront plans = assembly.plans();
    const auto key = [&](const PlanPoint& plan) {
      return static_cast<double>(plan.cost) + price * static_cast<double>(plan.memory);
    };
    const PlanPoint best = *std::ranges::min_element(plans, {}, key);
    const long double over =
        static_cast<long double>(best.memory) - static_cast<long double>(limit_);
    const long double bound = static_cast<long double>(best.cost) + price * over;
    // Keys are compared in doubles: a few roundings.
    const double rounding = price > 0 ? key(best) * 0x1p-48 : 0;
    const double low = std::ceil(static_cast<double>(bound) - rounding);
    if (low > 0)
      answer_.lower_bound = std::max(answer_.lower_bound, static_cast<Cost>(low));
    take(assembly, &best);
    return best;
  }

  void fronts() {
    // Work is states^3 most^2 a step.
    const double states = state_count(model_.setting.mesh);
    const auto most = static_cast<std::size_t>(
        std::clamp(std::sqrt(kPairsAStep / (states * states * states)), 8.0, 400.0));
    Assembly assembly(model_, fold_, std::nullopt, most);
    const PlanFront plans = assembly.plans();
    take(assembly, cheapest(plans, limit_));
    if (assembly.thinned()) return;
    answer_.least_memory_bytes = std::ranges::min(plans, {}, &PlanPoint::memory).memory;
    if (answer_.found) answer_.lower_bound = answer_.cost;
  }

  void take(const Assembly& assembly, const PlanPoint* plan) {
    if (plan == nullptr || plan->memory > limit_) return;
    if (answer_.found && plan->cost >= answer_.cost) return;
    answer_.found = true;
    answer_.cost = plan->cost;
    answer_.memory_bytes = plan->memory;
    answer_.ways.clear();
    for (const PlanTables::Step& step : assembly.tables().steps(plan->origin)) {
      if (step.op % kOperatorsAPart == 0) answer_.ways.emplace_back();
      answer_.ways.back().push_back(step.way);
    }
  }

  const ShardedModel& model_;
  Bytes limit_;
  bool fold_;
  ModelShards answer_;
};

}  // namespace

ModelShards shard_model(const ShardedModel& model, Bytes limit, bool fold) {
  return Search(model, limit, fold).run();
}

}  // namespace espalier
