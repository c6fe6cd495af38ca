#include "espalier/sharding/shard_model.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "espalier/model/numbers.h"
#include "espalier/sharding/close_gap.h"
#include "espalier/sharding/operator_tables.h"
#include "espalier/sharding/plan_table.h"
#include "espalier/sharding/repeated_runs.h"

namespace espalier {
namespace {

constexpr std::int32_t kOperatorsAPart = 1 << 10;
constexpr int kModelPriceSteps = 60;

// The whole model's table, for one price or for fronts.
class Assembly {
 public:
  Assembly(const ShardedModel& model, bool fold) : model_(model), fold_(fold) {
    if (fold)
      runs_ = repeated_runs(std::span(model.sequence));
    else
      for (std::size_t k = 0; k < model.sequence.size(); ++k) runs_.push_back({k, 1, 1});
  }

  [[nodiscard]] PlanTable whole(PlanTables& tables) const {
    std::vector<PlanTable> parts;
    for (std::size_t k = 0; fold_ && k < model_.parts.size(); ++k)
      parts.push_back(part(tables, k));
    const std::size_t states = at(state_count(model_.setting.mesh));
    PlanTable whole = tables.nothing(states);
    for (const RepeatedRun& run : runs_) {
      PlanTable stretch = tables.nothing(states);
      for (std::size_t k = run.first; k < run.first + run.period; ++k) {
        const std::size_t number = at(model_.sequence[k]);
        stretch = tables.chain(stretch, fold_ ? parts[number] : part(tables, number));
      }
      whole = tables.chain(whole, tables.repeat(stretch, std::int64_t(run.count)));
    }
    return whole;
  }

 private:
  [[nodiscard]] PlanTable part(PlanTables& tables, std::size_t number) const {
    const ModelPart& part = model_.parts[number];
    const ShardingSetting& setting = model_.setting;
    PlanTable table = tables.nothing(at(state_count(setting.mesh)));
    for (std::size_t k = 0; k < part.operators.size(); ++k) {
      const ShardedOperator& op = part.operators[k];
      const PlanTable own = operator_table(
          tables, setting, op,
          static_cast<std::int32_t>(number) * kOperatorsAPart + std::int32_t(k));
      table = tables.chain(table, reshard_table(tables, setting, op.width));
      table = tables.chain(table, own);
    }
    return part.residual ? add_input(tables, setting, table, part.operators.front().width)
                         : table;
  }

  const ShardedModel& model_;
  bool fold_;
  std::vector<RepeatedRun> runs_;
};

class ModelSearch {
 public:
  ModelSearch(const ShardedModel& model, Bytes limit, bool fold)
      : model_(model), limit_(limit), assembly_(model, fold) {}

  ModelShards run() {
    answer_.distinct_parts = std::ssize(model_.parts);
    const PlanPoint fastest = try_price(0);
    if (answer_.found) return std::move(answer_);
    const PlanPoint lightest = try_price(PlanTables::kMemoryAlone);
    answer_.least_memory_bytes = lightest.memory;
    if (!answer_.found) return std::move(answer_);
    const double price = best_price(fastest, lightest);
    if (!answer_.proved()) fronts(price);
    return std::move(answer_);
  }

 private:
  // The price of the best bound. Cost + price * (memory - limit) of a plan is a line over
  // prices, the bound is the least of all plans' lines: of the two known on both sides of
  // its top, that at their crossing is next.
  double best_price(PlanPoint over, PlanPoint fits) {
    double best = 0;
    for (int k = 0; k < kModelPriceSteps && !answer_.proved(); ++k) {
      const double price = static_cast<double>(fits.cost - over.cost) /
                           static_cast<double>(over.memory - fits.memory);
      const Cost before = answer_.lower_bound;
      const PlanPoint next = try_price(price);
      if (answer_.lower_bound > before) best = price;
      const auto key = [&](const PlanPoint& plan) {
        return static_cast<double>(plan.cost) + price * static_cast<double>(plan.memory);
      };
      if (key(next) >= key(over) * (1 - 0x1p-48)) return price;
      (next.memory > limit_ ? over : fits) = next;
    }
    return best;
  }

  // The plan of least cost and price of memory, and the bound that it gives.
  PlanPoint try_price(double price) {
    PlanTables tables(price);
    const PlanTable whole = assembly_.whole(tables);
    const bool alone = price == PlanTables::kMemoryAlone;
    const auto key = [&](const PlanPoint& plan) {
      return alone ? static_cast<double>(plan.memory)
                   : static_cast<double>(plan.cost) +
                         price * static_cast<double>(plan.memory);
    };
    PlanFront plans;
    for (const PlanFront& front : whole.fronts)
      plans.insert(plans.end(), front.begin(), front.end());
    const PlanPoint best = *std::ranges::min_element(plans, {}, key);
    if (best.memory <= limit_ && (!answer_.found || best.cost < answer_.cost))
      take(tables, best);
    if (alone) return best;
    const long double over =
        static_cast<long double>(best.memory) - static_cast<long double>(limit_);
    const long double bound = static_cast<long double>(best.cost) + price * over;
    // Keys are compared in doubles: a few roundings.
    raise(static_cast<double>(bound) - (price > 0 ? key(best) * 0x1p-48 : 0));
    return best;
  }

  void raise(double bound) {
    const double low = std::ceil(bound);
    if (low > 0)
      answer_.lower_bound = std::max(answer_.lower_bound, static_cast<Cost>(low));
  }

  void fronts(double price) {
    const CostGap gap =
        close_gap({answer_.cost, answer_.lower_bound}, price, limit_,
                  {[this](PlanTables& tables) { return assembly_.whole(tables); },
                   [this](const PlanTables& tables, const PlanPoint& plan) {
                     take(tables, plan);
                   }});
    answer_.lower_bound = gap.lower_bound;
  }

  void take(const PlanTables& tables, const PlanPoint& plan) {
    answer_.found = true;
    answer_.cost = plan.cost;
    answer_.memory_bytes = plan.memory;
    answer_.ways.clear();
    for (const PlanTables::Step& step : tables.steps(plan.origin)) {
      if (step.op % kOperatorsAPart == 0) answer_.ways.emplace_back();
      answer_.ways.back().push_back(step.way);
    }
  }

  const ShardedModel& model_;
  Bytes limit_;
  Assembly assembly_;
  ModelShards answer_;
};

}  // namespace

ModelShards shard_model(const ShardedModel& model, Bytes limit, bool fold) {
  return ModelSearch(model, limit, fold).run();
}

}  // namespace espalier
