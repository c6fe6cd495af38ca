#include "espalier/sharding/shard_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "espalier/sharding/plan_filter.h"

namespace espalier {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

constexpr std::size_t kLongestPeriod = 16;
constexpr std::int32_t kOperatorsAPart = 1 << 10;
constexpr int kPriceSteps = 60;
constexpr std::size_t kMostPlans = 512;  // kept in a front
constexpr double kMostPairs = 3e7;       // that one pass may compare before the last
// How far above the bound plans are looked for first, of the way to the best one known,
// and how much farther every time.
constexpr double kFirstReach = 1.0 / 256, kFarther = 1.4;
// Prices that a filter takes, as multiples of the best one.
constexpr std::array<double, 7> kFilterPrices = {1, 1.4, 0.7, 4, 0.25, 64, 0};

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
  Assembly(const ShardedModel& model, bool fold, PlanTables tables)
      : model_(model), fold_(fold), tables_(std::move(tables)) {
    std::vector<PlanTable> parts;
    if (fold_)
      for (std::size_t k = 0; k < model_.parts.size(); ++k) parts.push_back(part(k));
    whole_ = tables_.nothing();
    for (const Run& run : runs_of(model_.sequence, fold_)) {
      PlanTable stretch = tables_.nothing();
      for (std::size_t k = run.first; k < run.first + run.period; ++k) {
        const std::size_t number = at(model_.sequence[k]);
        stretch = tables_.join(stretch, fold_ ? parts[number] : part(number));
      }
      whole_ = tables_.join(whole_, tables_.repeat(stretch, std::int64_t(run.count)));
    }
  }

  // The best plans over all states at both ends.
  [[nodiscard]] PlanFront plans() const {
    PlanFront all;
    for (const PlanFront& front : whole_.fronts)
      all.insert(all.end(), front.begin(), front.end());
    return all;
  }

  [[nodiscard]] const PlanTables& tables() const { return tables_; }
  [[nodiscard]] const PlanTable& whole() const { return whole_; }

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
  PlanTable whole_;
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
    for (int k = 0; k < kPriceSteps && !answer_.proved(); ++k) {
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
    const Assembly assembly(model_, fold_, PlanTables(model_.setting, price));
    const PlanFront plans = assembly.plans();
    const bool alone = price == PlanTables::kMemoryAlone;
    const auto key = [&](const PlanPoint& plan) {
      return alone ? static_cast<double>(plan.memory)
                   : static_cast<double>(plan.cost) +
                         price * static_cast<double>(plan.memory);
    };
    const PlanPoint best = *std::ranges::min_element(plans, {}, key);
    take(assembly, &best);
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

  // Fronts of the plans that can still be part of one near the bound, and farther from it
  // until one fits: it is the best, unless plans were lost; then all better ones.
  void fronts(double price) {
    PlanFilter filter = filter_of(price);
    const double above = static_cast<double>(answer_.cost - answer_.lower_bound);
    const double begin = static_cast<double>(answer_.lower_bound);
    double reach = kFirstReach;
    while (!answer_.proved()) {
      const double known = static_cast<double>(answer_.cost - 1);
      const double goal = std::min(known, std::floor(begin + reach * above));
      const Cost before = answer_.cost;
      if (try_fronts(filter, goal) > kMostPairs) return;
      if (answer_.cost < before)
        reach = 1;
      else if (goal < known)
        reach *= kFarther;
      else
        return;
    }
  }

  [[nodiscard]] PlanFilter filter_of(double price) const {
    PlanFilter filter(limit_);
    for (const double factor : kFilterPrices) {
      const Assembly assembly(model_, fold_, PlanTables(model_.setting, factor * price));
      filter.add(assembly.tables(), assembly.whole());
    }
    return filter;
  }

  // Plans of at most that cost. @return pairs looked at
  double try_fronts(PlanFilter& filter, double goal) {
    filter.set_goal(goal);
    const Assembly assembly(model_, fold_,
                            PlanTables(model_.setting, filter, kMostPlans));
    take(assembly, cheapest(assembly.plans(), limit_));
    // No plan costs less than the best one, what lies above the goal, or what was lost.
    raise(std::min(
        {static_cast<double>(answer_.cost), goal + 1, assembly.tables().lost()}));
    return assembly.tables().pairs();
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
