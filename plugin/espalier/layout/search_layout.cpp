#include "espalier/layout/search_layout.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "espalier/layout/core_layout.h"
#include "espalier/layout/ejection_layout.h"
#include "espalier/layout/exact_layout.h"
#include "espalier/layout/fit_layout.h"
#include "espalier/layout/join_pieces.h"
#include "espalier/layout/random.h"
#include "espalier/layout/rise_layout.h"
#include "espalier/layout/sweep_layout.h"

namespace espalier {
namespace {

constexpr std::size_t kMostExact = 1500;    // pieces of an exact search
constexpr std::size_t kMostFit = 100'000;   // pieces that are put one by one
constexpr std::int64_t kFirstSteps = 4000;  // of an exact search, doubled every round
constexpr std::int64_t kEjectionSteps = 18'000'000;  // at least, some seconds

// Exact searches of joined pieces, of those of equal lifetimes stacked, and of the pieces
// as they are: the fewer there are the sooner a layout is found, but one may be missed.
struct ExactSearches {
  ExactSearches(const Pieces& pieces, std::uint64_t seed)
      : rows(JoinedPieces::stacked_and_in_rows(pieces)),
        stacks(JoinedPieces::stacked(pieces)),
        of_rows(rows.pieces(), seed),
        of_stacks(stacks.pieces(), seed),
        of_all(pieces, seed) {}
  JoinedPieces rows, stacks;
  ExactLayout of_rows, of_stacks, of_all;
};

}  // namespace

SearchLayout::SearchLayout(Pieces pieces, std::uint64_t seed)
    : pieces_(std::move(pieces)), seed_(seed), lower_bound_(load(pieces_)) {
  Bytes divisor = 0;
  for (const Piece& piece : pieces_.list) divisor = std::gcd(divisor, piece.size);
  unit_ = std::max<Bytes>(divisor, 1);
}

void SearchLayout::begin() {
  offsets_ = sweep_layout(pieces_);
  capacity_ = capacity(pieces_, offsets_);
}

// Whether it is better than the best so far, which it then becomes.
bool SearchLayout::consider(std::vector<Bytes> offsets) {
  const Bytes reached = capacity(pieces_, offsets);
  if (reached >= capacity_) return false;
  capacity_ = reached;
  offsets_ = std::move(offsets);
  return true;
}

void SearchLayout::search(Bytes goal, LayoutBudget& budget) {
  goal_ = goal;
  if (done() || budget.look()) return;
  if (pieces_.size() > kMostFit) return search_joined(budget);
  try_joined(budget);
  if (pieces_.size() <= kMostExact && !done()) try_exact(0, budget);
  for (std::uint64_t round = 0; !done() && !budget.was_spent(); ++round) {
    try_rises(round, budget);
    try_orders(round, budget);
    try_cores(round, budget);
    if (pieces_.size() <= kMostExact && !done()) try_ejections(round, budget);
    if (pieces_.size() <= kMostExact && !done()) try_exact(round + 1, budget);
  }
}

void SearchLayout::try_joined(LayoutBudget& budget) {
  const JoinedPieces joined = JoinedPieces::stacked_and_in_rows(pieces_, &budget);
  const Pieces& pieces = joined.pieces();
  if (pieces.size() == pieces_.size()) return;
  consider(joined.expand(sweep_layout(pieces)));
  constexpr std::array kExponents = {0.0, 0.3, 0.6};
  for (const double exponent : kExponents) {
    if (done() || pieces.size() > kMostFit || budget.was_spent()) return;
    std::vector<Bytes> offsets;
    if (fit_layout(pieces, order_by_extent(pieces, exponent, 0, seed_), Fit::kFirst,
                   offsets, budget))
      consider(joined.expand(offsets));
  }
  if (pieces.size() > kMostExact) return;
  // Down from the best so far, in halves of what is above the bound.
  ExactLayout exact(pieces, seed_);
  Bytes low = std::max(lower_bound_, goal_);
  for (int k = 0; k < 12 && !done() && low < capacity_ && !budget.was_spent(); ++k) {
    const Bytes target = k == 0 ? low : low + (capacity_ - low) / 2;
    const auto answer = exact.search(target, kFirstSteps, budget);
    if (answer == ExactLayout::Answer::kFound) consider(joined.expand(exact.offsets()));
    if (answer != ExactLayout::Answer::kFound && k > 0) low = target;
    if (capacity_ - low < unit_) break;
  }
}

// Of joined pieces, every third round of the pieces as they are: halfway down from the
// best so far while that is found, each time for a quarter of what all before took; then
// at the least, for three times that, as most layouts are found within a few million
// moves.
void SearchLayout::try_ejections(std::uint64_t round, LayoutBudget& budget) {
  const JoinedPieces joined = round % 3 == 2
                                  ? JoinedPieces::stacked(pieces_)
                                  : JoinedPieces::stacked_and_in_rows(pieces_, &budget);
  const std::int64_t steps = EjectionLayout::steps_a_move(joined.pieces().size());
  const std::int64_t moves = budget.steps() / steps;
  EjectionLayout ejection(joined.pieces(), seed_ + round);
  const auto found = [&](Bytes target, std::int64_t most) {
    return ejection.search(target, most, budget) &&
           consider(joined.expand(ejection.offsets()));
  };
  Bytes least = 0, target = -1;
  do {
    least = std::max(lower_bound_, goal_);
    target = least + (capacity_ - least) / 2 / unit_ * unit_;
  } while (found(target, moves / 4) && !done() && !budget.was_spent());
  if (!done() && target > least)
    found(least, std::max(3 * moves, kEjectionSteps / steps));
}

// All ways, for the joined pieces alone: more would be too slow.
void SearchLayout::search_joined(LayoutBudget& budget) {
  const JoinedPieces joined = JoinedPieces::stacked_and_in_rows(pieces_, &budget);
  if (joined.pieces().size() == pieces_.size()) return;
  SearchLayout whole(joined.pieces(), seed_);
  whole.begin();
  whole.search(goal_, budget);
  consider(joined.expand(whole.offsets()));
}

void SearchLayout::try_orders(std::uint64_t round, LayoutBudget& budget) {
  constexpr double kByLength = std::numeric_limits<double>::infinity();
  constexpr std::array kExponents = {0.0, kByLength, 0.3, 0.6, 1.0};
  Random random(seed_ + round);
  for (std::size_t k = 0; k < kExponents.size(); ++k) {
    for (const Fit fit : {Fit::kFirst, Fit::kBest}) {
      if (done() || budget.was_spent()) return;
      const double spread = round == 0 ? 0 : 0.5 * random.unit();
      const double exponent = round == 0 || k == 1 ? kExponents[k] : 0.9 * random.unit();
      std::vector<Bytes> offsets;
      if (fit_layout(pieces_, order_by_extent(pieces_, exponent, spread, random.next()),
                     fit, offsets, budget))
        consider(std::move(offsets));
    }
  }
}

// From the bottom up, the pieces of the fullest sections first, by area and by size.
void SearchLayout::try_rises(std::uint64_t round, LayoutBudget& budget) {
  Random random(seed_ + round);
  for (const double exponent : {0.0, 1.0, 0.5, -1.0}) {
    if (done() || budget.was_spent()) return;
    const double spread = round == 0 ? 0 : 0.5 * random.unit();
    if (exponent < 0 && round > 0) return;
    const auto order = exponent < 0
                           ? order_by_crowd(pieces_)
                           : order_by_extent(pieces_, exponent, spread, random.next());
    if (auto offsets = rise_layout(pieces_, order, budget)) consider(*std::move(offsets));
  }
}

void SearchLayout::try_cores(std::uint64_t round, LayoutBudget& budget) {
  constexpr std::array kShares = {0.95, 0.9, 0.97, 0.85, 0.8, 0.98};
  for (const double share : kShares) {
    if (done() || budget.was_spent()) return;
    const Bytes low = std::max(lower_bound_, goal_);
    // Where the least is too hard, a little more than that.
    const auto slack = static_cast<double>(capacity_ - low) * 0.1;
    try_core(share, low + (round % 2 == 0 ? 0 : static_cast<Bytes>(slack)), round,
             budget);
  }
}

void SearchLayout::try_core(double share, Bytes capacity, std::uint64_t round,
                            LayoutBudget& budget) {
  const Core core = core_of(pieces_, share);
  if (core.pieces.size() == pieces_.size()) return;
  if (JoinedPieces::stacked(core.pieces).pieces().size() > kMostExact) return;
  const std::vector<Bytes> fixed =
      core_layout(pieces_, core, capacity, 500 << std::min<std::uint64_t>(round, 10),
                  seed_ + round, budget);
  if (fixed.empty()) return;
  std::vector<bool> in_core(pieces_.size(), false);
  for (const std::int32_t p : core.numbers) in_core[static_cast<std::size_t>(p)] = true;
  constexpr double kByLength = std::numeric_limits<double>::infinity();
  Random random(seed_ + round);
  for (const double exponent : {0.0, 0.3, 0.6, kByLength}) {
    if (done() || budget.was_spent()) return;
    std::vector<Bytes> offsets(pieces_.size(), 0);
    for (std::size_t k = 0; k < fixed.size(); ++k)
      offsets[static_cast<std::size_t>(core.numbers[k])] = fixed[k];
    auto order = order_by_extent(pieces_, exponent, round == 0 ? 0 : 0.3, random.next());
    std::erase_if(order,
                  [&](std::int32_t p) { return in_core[static_cast<std::size_t>(p)]; });
    const Fit fit = exponent == kByLength ? Fit::kBest : Fit::kFirst;
    if (fit_layout(pieces_, order, fit, offsets, budget)) consider(std::move(offsets));
  }
}

// First inside the bound; then between it and the best so far.
void SearchLayout::try_exact(std::uint64_t round, LayoutBudget& budget) {
  using Answer = ExactLayout::Answer;
  const std::int64_t steps = kFirstSteps << std::min<std::uint64_t>(round, 40);
  ExactSearches exact(pieces_, seed_ + round);
  const auto decide = [&](Bytes target) {
    if (exact.of_rows.search(target, steps, budget) == Answer::kFound)
      return consider(exact.rows.expand(exact.of_rows.offsets()));
    if (exact.of_stacks.search(target, steps, budget) == Answer::kFound)
      return consider(exact.stacks.expand(exact.of_stacks.offsets()));
    const Answer answer = exact.of_all.search(target, steps, budget);
    // Every capacity that matters is a sum of sizes.
    if (answer == Answer::kNone)
      lower_bound_ = std::max(lower_bound_, (target / unit_ + 1) * unit_);
    const auto found = exact.of_all.offsets();
    return answer == Answer::kFound && consider({found.begin(), found.end()});
  };
  if (!decide(std::max(lower_bound_, goal_ / unit_ * unit_))) {
    for (int part = 8; part > 0 && !done() && !budget.was_spent(); part /= 2) {
      // An eighth of the gap below the best so far, a quarter, a half, all but a unit.
      while (!done() && !budget.was_spent()) {
        const Bytes gap = capacity_ - std::max(lower_bound_, goal_);
        const Bytes down = std::max(unit_, gap / part / unit_ * unit_);
        if (part == 1 || !decide(std::max(lower_bound_, capacity_ - down))) break;
      }
    }
  }
}

}  // namespace espalier
