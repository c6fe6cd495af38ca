#include "espalier/sharding/plan_filter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "espalier/model/numbers.h"

namespace espalier {
namespace {

void lower(std::vector<double>& rest, std::size_t entry, double to) {
  rest[entry] = std::min(rest[entry], to);
}

// The rest of one is the other and the rest of both.
void share_join(const TableJoin& how, const std::vector<double>& rest,
                const std::vector<double>& a, const std::vector<double>& b,
                std::vector<double>& rest_a, std::vector<double>& rest_b) {
  JoinWalk walk(how);
  do {
    const JoinedEntry& at = walk.at();
    const double beside = rest[at.entry];
    if (beside == kInfinity) continue;
    for (std::size_t m = 0; m < at.count; ++m) {
      const std::size_t first = at.first + m * at.first_apart;
      const std::size_t second = at.second + m * at.second_apart;
      lower(rest_a, first, beside + b[second]);
      lower(rest_b, second, beside + a[first]);
    }
  } while (walk.next());
}

}  // namespace

void PlanFilter::add(const PlanTables& tables, const PlanTable& whole) {
  const std::size_t count = at(whole.number) + 1;
  Priced priced{tables.price(), {}};
  for (std::size_t n = 0; n < count; ++n)
    priced.rests.emplace_back(tables.least(n).size(), kInfinity);
  std::ranges::fill(priced.rests.back(), 0);
  for (std::size_t n = count; n-- > 0;) {
    const PlanTables::Making& made = tables.making(n);
    if (made.first >= 0)
      share_join(made.how, priced.rests[n], tables.least(at(made.first)),
                 tables.least(at(made.second)), priced.rests[at(made.first)],
                 priced.rests[at(made.second)]);
  }
  // Keys are sums of doubles, one rounding a table at most and some more.
  const std::vector<double>& keys = tables.least(count - 1);
  const double rounding =
      (*std::ranges::min_element(keys) + priced.price * static_cast<double>(limit_)) *
      static_cast<double>(count + 64) * 0x1p-52;
  for (std::vector<double>& rests : priced.rests)
    for (double& rest : rests) rest -= rounding;
  priced_.push_back(std::move(priced));
}

double PlanFilter::bound(const PlanTable& table, std::size_t entry,
                         const PlanPoint& point) const {
  double most = -kInfinity;
  const auto cost = static_cast<double>(point.cost);
  const auto over = static_cast<double>(point.memory - limit_);
  for (const Priced& priced : priced_)
    most = std::max(most, priced.bound(at(table.number), entry, cost, over));
  return most;
}

double PlanFilter::first_key(const PlanPoint& point) const {
  return static_cast<double>(point.cost) +
         priced_.front().price * static_cast<double>(point.memory);
}

double PlanFilter::room(const PlanTable& table, std::size_t entry,
                        const PlanPoint& point) const {
  const Priced& first = priced_.front();
  const double of_limit = first.price * static_cast<double>(limit_);
  const double rounding = (std::abs(goal_) + of_limit) * 0x1p-46;
  return goal_ - first.rests[at(table.number)][entry] + of_limit - first_key(point) +
         rounding;
}

bool PlanFilter::worth(const PlanTable& table, std::size_t entry,
                       const PlanPoint& point) const {
  const auto cost = static_cast<double>(point.cost);
  const auto over = static_cast<double>(point.memory - limit_);
  return std::ranges::all_of(priced_, [&](const Priced& priced) {
    return priced.bound(at(table.number), entry, cost, over) <= goal_;
  });
}

}  // namespace espalier
