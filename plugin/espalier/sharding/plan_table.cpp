#include "espalier/sharding/plan_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace espalier {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// Corners of the lower convex hull: what some price of memory makes best.
std::vector<std::size_t> corners(const PlanFront& front) {
  std::vector<std::size_t> hull;
  const auto above = [&](std::size_t a, std::size_t b, std::size_t c) {
    const auto wide = [&](std::size_t i, std::size_t j) {
      return std::pair(static_cast<double>(front[j].cost - front[i].cost),
                       static_cast<double>(front[j].memory - front[i].memory));
    };
    const auto [x1, y1] = wide(a, b);
    const auto [x2, y2] = wide(a, c);
    return x1 * y2 - x2 * y1 <= 0;
  };
  for (std::size_t k = 0; k < front.size(); ++k) {
    while (hull.size() >= 2 && above(hull[hull.size() - 2], hull.back(), k))
      hull.pop_back();
    hull.push_back(k);
  }
  return hull;
}

// `most` of the plans: corners first, for they combine best, the others at even
// distances.
void thin(PlanFront& front, std::size_t most) {
  std::vector<char> kept(front.size(), 0);
  const auto spread = [&](const std::vector<std::size_t>& from, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k)
      kept[from[k * (from.size() - 1) / std::max<std::size_t>(1, count - 1)]] = 1;
  };
  const std::vector<std::size_t> hull = corners(front);
  spread(hull, std::min(hull.size(), most));
  if (hull.size() < most) {
    std::vector<std::size_t> others;
    for (std::size_t k = 0; k < front.size(); ++k)
      if (kept[k] == 0) others.push_back(k);
    spread(others, std::min(others.size(), most - hull.size()));
  }
  PlanFront thinned;
  for (std::size_t k = 0; k < front.size(); ++k)
    if (kept[k] != 0) thinned.push_back(front[k]);
  front = std::move(thinned);
}

}  // namespace

PlanTables::PlanTables(const ShardingSetting& setting, std::optional<double> price,
                       std::size_t most)
    : setting_(&setting),
      states_(at(state_count(setting.mesh))),
      price_(price),
      most_(most) {}

PlanTable PlanTables::nothing() const {
  PlanTable table{std::vector<PlanFront>(states_ * states_)};
  for (std::size_t s = 0; s < states_; ++s) table.fronts[s * states_ + s] = {PlanPoint()};
  return table;
}

PlanTable PlanTables::one(const ShardedOperator& op, std::int32_t number) {
  PlanTable table{std::vector<PlanFront>(states_ * states_)};
  for (std::size_t w = 0; w < op.ways.size(); ++w) {
    const OperatorWay& way = op.ways[w];
    origins_.push_back({number, static_cast<std::int32_t>(w), true});
    table.fronts[at(way.in) * states_ + at(way.out)].push_back(
        {way.cost, way.memory, static_cast<std::int32_t>(origins_.size()) - 1});
  }
  for (PlanFront& front : table.fronts) prune(front);
  return table;
}

PlanTable PlanTables::reshard(std::int64_t width) {
  PlanTable table{std::vector<PlanFront>(states_ * states_)};
  for (std::size_t s = 0; s < states_; ++s)
    for (std::size_t t = 0; t < states_; ++t)
      table.fronts[s * states_ + t] = {
          {reshard_cost(*setting_, width, MeshState(s), MeshState(t)), 0, -1}};
  return table;
}

// -1 is nothing.
std::int32_t PlanTables::joined(std::int32_t a, std::int32_t b) {
  if (a < 0 || b < 0) return std::max(a, b);
  origins_.push_back({a, b, false});
  return static_cast<std::int32_t>(origins_.size()) - 1;
}

PlanTable PlanTables::join(const PlanTable& a, const PlanTable& b) {
  PlanTable table{std::vector<PlanFront>(states_ * states_)};
  struct Pair {
    const PlanPoint *first, *second;
  };
  std::vector<Pair> pairs;
  for (std::size_t s = 0; s < states_; ++s) {
    for (std::size_t t = 0; t < states_; ++t) {
      // Pairs first, so that only those kept get an origin.
      pairs.clear();
      PlanFront front;
      for (std::size_t m = 0; m < states_; ++m) {
        for (const PlanPoint& first : a.fronts[s * states_ + m]) {
          for (const PlanPoint& second : b.fronts[m * states_ + t]) {
            front.push_back({checked_add(first.cost, second.cost),
                             checked_add(first.memory, second.memory),
                             static_cast<std::int32_t>(pairs.size())});
            pairs.push_back({&first, &second});
          }
        }
      }
      prune(front);
      for (PlanPoint& point : front) {
        const Pair& pair = pairs[at(point.origin)];
        point.origin = joined(pair.first->origin, pair.second->origin);
      }
      table.fronts[s * states_ + t] = std::move(front);
    }
  }
  return table;
}

PlanTable PlanTables::add_input(const PlanTable& a, std::int64_t width) {
  PlanTable table = join(a, reshard(width));
  for (std::size_t s = 0; s < states_; ++s) {
    for (std::size_t t = 0; t < states_; ++t) {
      const Cost cost = reshard_cost(*setting_, width, MeshState(s), MeshState(t));
      for (PlanPoint& point : table.fronts[s * states_ + t])
        point.cost = checked_add(point.cost, cost);
    }
  }
  return table;
}

PlanTable PlanTables::repeat(const PlanTable& a, std::int64_t count) {
  PlanTable all = nothing(), power = a;
  for (bool first = true; count > 0; count /= 2) {
    if (count % 2 == 1) all = std::exchange(first, false) ? power : join(all, power);
    if (count > 1) power = join(power, power);
  }
  return all;
}

void PlanTables::prune(PlanFront& front) {
  if (front.size() < 2) return;
  if (price_) {
    front = {*std::ranges::min_element(
        front, {}, [&](const PlanPoint& point) { return key(point); })};
    return;
  }
  std::ranges::sort(front, {}, [](const PlanPoint& point) {
    return std::pair(point.cost, point.memory);
  });
  std::size_t kept = 1;
  for (std::size_t k = 1; k < front.size(); ++k)
    if (front[k].memory < front[kept - 1].memory) front[kept++] = front[k];
  front.resize(kept);
  if (kept <= most_) return;
  thinned_ = true;
  thin(front, most_);
}

std::vector<PlanTables::Step> PlanTables::steps(std::int32_t origin) const {
  std::vector<Step> steps;
  std::vector<std::int32_t> open = {origin};
  while (!open.empty()) {
    const std::int32_t top = open.back();
    open.pop_back();
    if (top < 0) continue;
    const Origin& from = origins_[at(top)];
    if (from.leaf) {
      steps.push_back({from.first, from.second});
    } else {
      open.push_back(from.second);
      open.push_back(from.first);
    }
  }
  return steps;
}

}  // namespace espalier
