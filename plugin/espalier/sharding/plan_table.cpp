// One table, and the search that fills it row by row: over 300 lines.

#include "espalier/sharding/plan_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "espalier/model/error.h"
#include "espalier/model/numbers.h"
#include "espalier/sharding/plan_filter.h"

namespace espalier {
namespace {}  // namespace

// Two plans one after the other, and their origins.
struct PlanTables::Pair {
  PlanPoint both;
  std::int32_t first, second;
};

// Pairs none of which is better than another in both cost and memory, by cost.
class PlanTables::PairFront {
 public:
  /// Where a pair of that cost stands; nothing when another one beats it.
  [[nodiscard]] std::optional<std::size_t> place(const PlanPoint& both) const {
    const auto after = std::ranges::upper_bound(
        pairs_, both.cost, {}, [](const Pair& pair) { return pair.both.cost; });
    const auto place = static_cast<std::size_t>(after - pairs_.begin());
    if (place == 0) return place;
    const PlanPoint& before = pairs_[place - 1].both;
    if (before.memory > both.memory) return place;
    const bool equal = before.cost == both.cost && before.memory == both.memory;
    if (equal && both.ends.order < before.ends.order) return place - 1;
    return std::nullopt;
  }
  /// In its place, for those that it beats.
  void insert(std::size_t place, const Pair& pair) {
    const auto begin = pairs_.begin() + static_cast<std::ptrdiff_t>(place);
    const auto end = std::find_if(begin, pairs_.end(), [&](const Pair& other) {
      return other.both.memory < pair.both.memory;
    });
    if (begin == end) {
      pairs_.insert(begin, pair);
    } else {
      *begin = pair;
      pairs_.erase(begin + 1, end);
    }
  }
  [[nodiscard]] std::vector<Pair> take() { return std::exchange(pairs_, {}); }

 private:
  std::vector<Pair> pairs_;
};

PlanTable PlanTables::begin(Making making, std::vector<std::size_t> shape) {
  std::size_t entries = 1;
  for (const std::size_t states : shape) entries *= states;
  makings_.push_back(std::move(making));
  return {std::move(shape), std::vector<PlanFront>(entries),
          static_cast<std::int32_t>(makings_.size()) - 1};
}

void PlanTables::end(const PlanTable& table) {
  if (!price_) return;
  std::vector<double> least(table.fronts.size(), kMemoryAlone);
  for (std::size_t entry = 0; entry < least.size(); ++entry)
    for (const PlanPoint& point : table.fronts[entry])
      least[entry] = std::min(least[entry], key(point));
  least_.push_back(std::move(least));
}

std::int32_t PlanTables::leaf(std::int32_t op, std::int32_t way) {
  origins_.push_back({op, way, true});
  return static_cast<std::int32_t>(origins_.size()) - 1;
}

PlanTable PlanTables::given(std::vector<std::size_t> shape,
                            std::vector<PlanFront> plans) {
  PlanTable table = begin({}, std::move(shape));
  ESPALIER_ASSERT(plans.size() == table.fronts.size(), "a front for all states");
  table.fronts = std::move(plans);
  for (std::size_t entry = 0; entry < table.fronts.size(); ++entry) {
    PlanFront& front = table.fronts[entry];
    if (filter_ != nullptr)
      std::erase_if(front, [&](const PlanPoint& point) {
        return !filter_->worth(table, entry, point);
      });
    prune(table, entry, front);
  }
  end(table);
  return table;
}

PlanTable PlanTables::nothing(std::size_t states) {
  std::vector<PlanFront> plans(states * states);
  for (std::size_t s = 0; s < states; ++s) plans[s * states + s] = {PlanPoint()};
  return given({states, states}, std::move(plans));
}

// -1 is nothing.
std::int32_t PlanTables::joined(std::int32_t a, std::int32_t b) {
  if (a < 0 || b < 0) return std::max(a, b);
  origins_.push_back({a, b, false});
  return static_cast<std::int32_t>(origins_.size()) - 1;
}

PlanPoint PlanTables::sum_of(const PlanPoint& first, const PlanPoint& second) {
  return {
      checked_add(first.cost, second.cost),
      checked_add(first.memory, second.memory),
      -1,
      {first.ends.first, second.ends.last, first.ends.order << 32 | second.ends.order}};
}

PlanTable PlanTables::join(const PlanTable& a, const PlanTable& b, TableJoin how) {
  PlanTable table = begin({a.number, b.number, how}, how.shape());
  JoinWalk walk(how);
  do {
    const JoinedEntry& at = walk.at();
    PlanFront& front = table.fronts[at.entry];
    const auto keep = [&](const Pair& pair) {
      front.push_back(pair.both);
      front.back().origin = joined(pair.first, pair.second);
    };
    if (price_) {
      if (const auto best = best_pair(a, b, at)) keep(*best);
      continue;
    }
    for (const Pair& pair : pairs(table, a, b, at)) keep(pair);
    prune(table, at.entry, front);
  } while (walk.next());
  if (!price_) renumber(table);
  end(table);
  return table;
}

PlanTable PlanTables::chain(const PlanTable& a, const PlanTable& b) {
  return join(a, b, {{a.shape[0], b.shape[1], a.shape[1]}, 2, {0, 2}, {2, 1}});
}

// With a price there is one plan at most in each entry.
std::optional<PlanTables::Pair> PlanTables::best_pair(const PlanTable& a,
                                                      const PlanTable& b,
                                                      const JoinedEntry& entry) const {
  std::optional<Pair> best;
  double least = kMemoryAlone;
  for (std::size_t m = 0; m < entry.count; ++m) {
    const PlanFront& firsts = a.fronts[entry.first + m * entry.first_apart];
    const PlanFront& seconds = b.fronts[entry.second + m * entry.second_apart];
    if (firsts.empty() || seconds.empty()) continue;
    const PlanPoint both = sum_of(firsts.front(), seconds.front());
    const double own = key(both);
    if (best && (own > least || (own == least && both.cost >= best->both.cost))) continue;
    best = Pair{both, firsts.front().origin, seconds.front().origin};
    least = own;
  }
  return best;
}

// Fronts lie by their keys at the filter's first price, so that a plan meets only those
// that go with it at that price. Most pairs are as good as another one: whether they are
// beaten is asked first.
std::vector<PlanTables::Pair> PlanTables::pairs(const PlanTable& table,
                                                const PlanTable& a, const PlanTable& b,
                                                const JoinedEntry& entry) {
  PairFront front;
  for (std::size_t m = 0; m < entry.count; ++m) {
    const PlanFront& firsts = a.fronts[entry.first + m * entry.first_apart];
    const PlanFront& seconds = b.fronts[entry.second + m * entry.second_apart];
    if (firsts.empty() || seconds.empty()) continue;
    for (const PlanPoint& first : firsts) {
      if (pairs_ > most_pairs_) {
        lost_ = -kMemoryAlone;
        return {};
      }
      const double room = filter_->room(table, entry.entry, first);
      for (const PlanPoint& second : seconds) {
        if (filter_->first_key(second) > room) break;
        if (second.ends.first >= 0 && first.ends.last > second.ends.first) continue;
        ++pairs_;
        const PlanPoint both = sum_of(first, second);
        const auto place = front.place(both);
        if (place && filter_->worth(table, entry.entry, both))
          front.insert(*place, {both, first.origin, second.origin});
      }
    }
  }
  return front.take();
}

// Of a part to be repeated; those that change the state can change places with none.
void PlanTables::number(PlanTable& table) {
  const std::size_t states = table.shape[1];
  std::int32_t number = 0;
  for (std::size_t entry = 0; entry < table.fronts.size(); ++entry) {
    const bool stays = entry / states == entry % states;
    for (PlanPoint& point : table.fronts[entry]) {
      point.ends = {stays ? number : -1, stays ? number : -1, number};
      ++number;
    }
  }
}

// Orders of pairs become places among them.
void PlanTables::renumber(PlanTable& table) {
  std::vector<PlanPoint*> points;
  for (PlanFront& front : table.fronts)
    for (PlanPoint& point : front) points.push_back(&point);
  std::ranges::sort(points, {}, [](const PlanPoint* point) { return point->ends.order; });
  for (std::size_t k = 0; k < points.size(); ++k)
    points[k]->ends.order = static_cast<std::int64_t>(k);
}

// Powers of two with digits 1 and 2, the largest first: what few plans of long stretches
// leave between them, the plans of the short ones at the end fill.
PlanTable PlanTables::repeat(const PlanTable& a, std::int64_t count) {
  if (count == 0) return nothing(a.shape[0]);
  std::vector<PlanTable> powers;
  std::vector<std::int64_t> digits;
  for (; count > 0; count = (count - digits.back()) / 2) {
    powers.push_back(powers.empty() ? a : chain(powers.back(), powers.back()));
    if (powers.size() == 1) number(powers.back());
    digits.push_back(2 - count % 2);
  }
  PlanTable all = powers.back();
  for (std::size_t k = powers.size(); k-- > 0;) {
    const bool longest = k + 1 == powers.size();
    for (std::int64_t n = longest ? 1 : 0; n < digits[k]; ++n)
      all = chain(all, powers[k]);
  }
  for (PlanFront& front : all.fronts)
    for (PlanPoint& point : front) point.ends = {};
  return all;
}

void PlanTables::prune(const PlanTable& table, std::size_t entry, PlanFront& front) {
  if (price_) {
    if (front.size() > 1)
      front = {*std::ranges::min_element(front, {}, [&](const PlanPoint& point) {
        return std::pair(key(point), point.cost);
      })};
    return;
  }
  if (front.empty()) return;
  std::ranges::sort(front, {}, [](const PlanPoint& point) {
    return std::pair(point.cost, point.memory);
  });
  std::size_t kept = 1;
  for (std::size_t k = 1; k < front.size(); ++k)
    if (front[k].memory < front[kept - 1].memory) front[kept++] = front[k];
  front.resize(kept);
  if (kept > most_) thin(table, entry, front);
  std::ranges::sort(front, {},
                    [&](const PlanPoint& point) { return filter_->first_key(point); });
}

// Of `most` stretches of equal memory, the plan of least bound stays in each.
void PlanTables::thin(const PlanTable& table, std::size_t entry, PlanFront& front) {
  const Bytes least = front.back().memory;
  const double width = static_cast<double>(front.front().memory - least + 1);
  const auto stretch = [&](const PlanPoint& point) {
    return static_cast<std::size_t>(static_cast<double>(point.memory - least) / width *
                                    static_cast<double>(most_));
  };
  std::size_t kept = 0;
  double bound = 0;  // of the last one kept
  for (std::size_t k = 0; k < front.size(); ++k) {
    const double own = filter_->bound(table, entry, front[k]);
    if (kept == 0 || stretch(front[k]) != stretch(front[kept - 1])) {
      front[kept++] = front[k];
      bound = own;
      continue;
    }
    lost_ = std::min(lost_, std::max(own, bound));
    if (own < bound) front[kept - 1] = front[k], bound = own;
  }
  front.resize(kept);
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
