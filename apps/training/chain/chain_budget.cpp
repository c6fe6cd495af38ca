#include "training/chain/chain_budget.h"

#include <fmt/format.h>

#include <algorithm>

namespace espalier::training {
namespace {

void check(const ChainWish& wish) {
  const bool disk = !wish.directory.empty();
  const bool outside = disk || wish.remote_slots > 0;
  if (wish.memory_slots && *wish.memory_slots < (outside ? 0 : 1))
    throw InvalidInput(fmt::format("{} slots in memory", *wish.memory_slots));
  if (wish.disk_slots && (!disk || *wish.disk_slots < 1))
    throw InvalidInput(fmt::format("{} slots on disk", *wish.disk_slots));
}

// The least that is known to do for a wish.
ChainLimits smallest(const ChainWish& wish, const ChainLimits& limits) {
  ChainLimits least = limits;
  least.memory_slots = wish.memory_slots.value_or(limits.outer_slots() > 0 ? 0 : 1);
  least.overlap = false;
  return least;
}

}  // namespace

std::int64_t useful_slots(const Chain& chain) {
  return std::max<std::int64_t>(1, chain.steps - 1);
}

Bytes ChainBudget::least(const ChainLimits& limits) const {
  return account.least(checked_add(beside, memory_of(chain, limits)));
}

Bytes ChainBudget::least(bool disk) const {
  return least({.memory_slots = disk ? 0 : 1,
                .disk_slots = disk ? useful_slots(chain) : 0,
                .overlap = false});
}

Expected<ChainLimits> fit_slots(const ChainBudget& budget, const ChainWish& wish,
                                std::optional<Bytes> bound) {
  check(wish);
  const std::int64_t useful = useful_slots(budget.chain);
  ChainLimits limits{.memory_slots = std::min(useful, wish.memory_slots.value_or(useful)),
                     .directory = wish.directory,
                     .remote_slots = std::min(useful, wish.remote_slots),
                     .remote = wish.remote};
  if (!wish.directory.empty())
    limits.disk_slots = std::min(useful, wish.disk_slots.value_or(useful));
  if (!bound) return limits;
  const auto needed = [&](const ChainLimits& each) {
    return budget.account.needed(
        checked_add(budget.beside, memory_of(budget.chain, each)));
  };
  const ChainLimits least = smallest(wish, limits);
  if (needed(least) > *bound)
    return tl::make_unexpected(Infeasible{.reason = Infeasible::Reason::kImpossible,
                                          .bound_bytes = *bound,
                                          .least_bytes = budget.least(least),
                                          .lower_bound_bytes = needed(least)});
  if (wish.memory_slots) {
    limits.overlap = needed(limits) <= *bound;
    return limits;
  }
  // Room for one more state is worth more for transfers than as a slot.
  limits.memory_slots = least.memory_slots;
  limits.overlap = limits.outer_slots() > 0 && needed(limits) <= *bound;
  std::int64_t low = least.memory_slots, high = useful;
  while (low < high) {  // the most slots that fit
    limits.memory_slots = low + (high - low + 1) / 2;
    if (needed(limits) <= *bound)
      low = limits.memory_slots;
    else
      high = limits.memory_slots - 1;
  }
  limits.memory_slots = low;
  return limits;
}

}  // namespace espalier::training
