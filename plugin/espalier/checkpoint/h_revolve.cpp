#include "espalier/checkpoint/h_revolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "espalier/checkpoint/revolve.h"
#include "espalier/checkpoint/split_search.h"
#include "espalier/model/numbers.h"

namespace espalier {
namespace {

constexpr Nanoseconds kInfinite = std::numeric_limits<Nanoseconds>::max();
constexpr Nanoseconds kMostCost = kInfinite / 4;

// What the worst schedule could cost: nothing in a table is above it.
Nanoseconds most_cost(std::int64_t steps, const std::vector<CheckpointLevel>& levels,
                      Nanoseconds forward, Nanoseconds backward) {
  Nanoseconds access = 0;
  for (const CheckpointLevel& level : levels)
    access = checked_add(access, checked_add(level.write, level.read));
  const bool free = levels[0].write == 0 && levels[0].read == 0;
  const Nanoseconds advances = checked_mul(
      free ? revolve_cost(steps, levels[0].slots) : checked_mul(steps, steps), forward);
  const Nanoseconds rest = checked_mul(
      steps, checked_add(checked_mul(access, static_cast<std::int64_t>(levels.size())),
                         backward));
  return checked_add(advances, rest);
}

void check_range(std::int64_t steps, const std::vector<CheckpointLevel>& levels,
                 Nanoseconds forward, Nanoseconds backward) {
  const auto kept = [&] {
    try {
      return most_cost(steps, levels, forward, backward) <= kMostCost;
    } catch (const OverflowError&) {
      return false;
    }
  };
  if (!kept())
    throw OverflowError(fmt::format(
        "the cost of reversing {} steps may leave the 64-bit range of nanoseconds",
        steps));
}

// Where no slot is left for another state: from the stored one to the end at once.
SplitSearch::Best whole_way(std::int64_t l, Nanoseconds step, Nanoseconds read,
                            const HullRow& left) {
  return {l * step + read + left.value(at(l - 1)), static_cast<std::int32_t>(l)};
}

HullRow row_of(const std::vector<Nanoseconds>& values) {
  HullRow row(values.size());
  for (const Nanoseconds value : values) row.append(value);
  return row;
}

}  // namespace

HierarchyTables::HierarchyTables(std::int64_t steps, std::vector<CheckpointLevel> levels,
                                 const StepCosts& costs,
                                 const CheckpointProgress& progress, LastLevel last)
    : steps_(steps),
      levels_(std::move(levels)),
      forward_(costs.forward),
      free_memory_(levels_.front().write == 0 && levels_.front().read == 0),
      unbounded_((levels_.size() > 1 || !free_memory_) &&
                 levels_.back().slots >= steps - 1),
      read_once_(last == LastLevel::kReadOnce),
      rows_(levels_.size()),
      progress_(progress ? &progress : nullptr) {
  ESPALIER_ASSERT(!read_once_ || levels_.size() > 1, "a level below the last");
  check_range(steps, levels_, forward_, costs.backward);
  const Nanoseconds unit = take_unit();
  for (CheckpointLevel& level : levels_) level.slots = std::min(level.slots, steps);
  for (std::size_t k = free_memory_ ? 1 : 0; k < levels_.size(); ++k)
    rows_all_ += unbounded_ && k + 1 == levels_.size() ? 2 : levels_[k].slots;
  Values values;
  for (std::size_t k = 0; k < levels_.size(); ++k) {
    values = k == 0 && free_memory_                  ? memory_values()
             : unbounded_ && k + 1 == levels_.size() ? unbounded_values(k, values)
                                                     : level_values(k, values);
  }
  cost_ = values.back() * unit + steps * costs.backward;
}

// Tables count in the greatest common divisor of all costs: smaller numbers, and so fewer
// values that doubles cannot tell apart. Backward steps are the same in every schedule
// and are left out.
Nanoseconds HierarchyTables::take_unit() {
  Nanoseconds unit = forward_;
  for (const CheckpointLevel& level : levels_)
    unit = std::gcd(unit, std::gcd(level.write, level.read));
  unit = std::max<Nanoseconds>(unit, 1);
  forward_ /= unit;
  for (const CheckpointLevel& level : levels_)
    access_.push_back({level.write / unit, level.read / unit});
  return unit;
}

// A level 0 that costs nothing: Revolve.
HierarchyTables::Values HierarchyTables::memory_values() const {
  Values values(at(steps_));
  for (std::int64_t l = 0; l < steps_; ++l) {
    values[at(l)] = revolve_cost(l + 1, levels_[0].slots) * forward_;
  }
  return values;
}

void HierarchyTables::report() {
  ++rows_done_;
  if (progress_ != nullptr)
    (*progress_)(static_cast<double>(rows_done_) / static_cast<double>(rows_all_));
}

// O_k(., c_k), from O_{k-1}(., c_{k-1}). A row that is the one before it is all that
// follow.
HierarchyTables::Values HierarchyTables::level_values(std::size_t level,
                                                      const Values& below) {
  Values right = below;
  if (level == 0) right = {0};
  const bool once = read_once_ && level + 1 == levels_.size();
  for (std::int64_t m = 1; m <= levels_[level].slots; ++m) {
    Values values = once ? read_once_row(below, right) : fill_row(level, below, right);
    report();
    const bool same = values == right;
    right = std::move(values);
    if (same) break;
  }
  return right;
}

// O_k(., m), from O_k(., m-1); `right` has one value where m - 1 = 0 slots of level 0 can
// only reverse the state that is there.
HierarchyTables::Values HierarchyTables::fill_row(std::size_t level, const Values& below,
                                                  const Values& right) {
  const Access& costs = access_[level];
  const bool alone = right.size() == 1 && steps_ > 1;
  const HullRow right_row = row_of(right);
  HullRow left(at(steps_));
  left.append(0);
  Values values(at(steps_), 0);
  Row splits(at(steps_), 0);
  SplitSearch search(forward_, costs.read);
  for (std::int64_t l = 1; l < steps_; ++l) {
    const Nanoseconds base = below.empty() ? kInfinite : below[at(l)];
    const SplitSearch::Best best = alone ? whole_way(l, forward_, costs.read, left)
                                         : search.least(l, base, right_row, left);
    left.append(best.value);
    const bool stores = best.split > 0 && costs.write < base - best.value;
    values[at(l)] = stores ? costs.write + best.value : base;
    splits[at(l)] = stores ? best.split : -best.split;
  }
  rows_[level].push_back(std::move(splits));
  return values;
}

HierarchyTables::Values HierarchyTables::read_once_row(const Values& below,
                                                       const Values& right) {
  const HullRow below_row = row_of(below), right_row = row_of(right);
  Values values(at(steps_), 0);
  Row splits(at(steps_), 0);
  SplitSearch search(forward_, access_.back().write + access_.back().read);
  for (std::int64_t l = 1; l < steps_; ++l) {
    const auto best = search.least(l, below[at(l)], right_row, below_row);
    values[at(l)] = best.value;
    splits[at(l)] = best.split;
  }
  rows_.back().push_back(std::move(splits));
  return values;
}

HierarchyTables::Values HierarchyTables::unbounded_values(std::size_t level,
                                                          const Values& below) {
  const Access& costs = access_[level];
  const bool alone = below.empty();  // then what is right of a stop is the state there
  const auto base = [&](std::int64_t l) { return alone ? kInfinite : below[at(l)]; };
  const HullRow below_row = row_of(below);
  HullRow again(at(steps_)), first(at(steps_));
  again.append(0);
  first.append(0);
  again_.assign(at(steps_), 0);
  first_sweep_.assign(at(steps_), 0);
  SplitSearch search(forward_, costs.read);
  for (std::int64_t l = 1; l < steps_; ++l) {
    const SplitSearch::Best best = read_once_ ? SplitSearch::Best{base(l), 0}
                                   : alone    ? whole_way(l, forward_, costs.read, again)
                                           : search.least(l, base(l), below_row, again);
    again_[at(l)] = best.split;
    again.append(best.value);
  }
  report();
  SplitSearch sweep(forward_, costs.write + costs.read);
  for (std::int64_t l = 1; l < steps_; ++l) {
    const auto best = sweep.least(l, base(l), first, again);
    first_sweep_[at(l)] = best.split;
    first.append(best.value);
  }
  report();
  return first.values();
}

std::int64_t HierarchyTables::split(std::int32_t level, std::int64_t m, std::int64_t l,
                                    bool stored) const {
  if (read_once_ && stored && level + 1 == count()) return 0;
  if (unbounded_ && level + 1 == count())
    return stored ? again_[at(l)] : first_sweep_[at(l)];
  if (m == 0) return 0;
  const std::vector<Row>& rows = rows_[at(level)];
  const std::int32_t j = rows[std::min(at(m), rows.size()) - 1][at(l)];
  if (j >= 0) return j;
  return stored ? -j : 0;
}

}  // namespace espalier
