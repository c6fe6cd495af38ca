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
  const Nanoseconds unit = take_unit();
  check_range(unit);
  for (CheckpointLevel& level : levels_) level.slots = std::min(level.slots, steps);
  for (std::size_t k = free_memory_ ? 1 : 0; k < levels_.size(); ++k)
    rows_all_ += unbounded_ && k + 1 == levels_.size() ? 2 : levels_[k].slots;
  Values values;
  for (std::size_t k = 0; k < levels_.size(); ++k) {
    values = k == 0 && free_memory_                  ? memory_values()
             : unbounded_ && k + 1 == levels_.size() ? unbounded_values(k, values)
                                                     : level_values(k, values);
  }
  try {
    cost_ =
        checked_add(checked_mul(values.back(), unit), checked_mul(steps, costs.backward));
  } catch (const OverflowError&) {
    throw OverflowError(fmt::format(
        "the cost of reversing {} steps leaves the 64-bit range of nanoseconds", steps));
  }
}

// What the worst schedule could cost, in units: nothing in a table is above it.
Nanoseconds HierarchyTables::most_cost() const {
  if (unbounded_ && levels_.size() == 1) {  // only splits of some use: split_is_of_use()
    const Access& of = access_[0];
    return checked_mul(2 * steps_ + 2,
                       checked_add(forward_, checked_add(of.write, of.read)));
  }
  const Nanoseconds advances = checked_mul(
      free_memory_ ? revolve_cost(steps_, levels_[0].slots) : checked_mul(steps_, steps_),
      forward_);
  Nanoseconds access = 0;
  for (const Access& each : access_)
    access = checked_add(access, checked_add(each.write, each.read));
  const auto levels = static_cast<std::int64_t>(levels_.size());
  return checked_add(advances, checked_mul(steps_, checked_mul(access, levels)));
}

void HierarchyTables::check_range(Nanoseconds unit) const {
  try {
    if (most_cost() <= kMostCost) return;
  } catch (const OverflowError&) {
  }
  throw OverflowError(
      fmt::format("what reversing {} steps may cost leaves the 64-bit range, counted in "
                  "units of {} ns, of which all times of steps, reads and writes are "
                  "multiples; rounder times have a longer unit",
                  steps_, unit));
}

// Of one level with a slot for every state: storing another state in the middle of j
// steps costs a write and saves (j/2) ((j+1)/2) steps.
bool HierarchyTables::split_is_of_use(std::int64_t j) const {
  return forward_ == 0 || (j / 2) * ((j + 1) / 2) < access_.back().write / forward_ + 1;
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
  for (std::int64_t l = 1; l < steps_ && (!alone || split_is_of_use(l + 1)); ++l) {
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
