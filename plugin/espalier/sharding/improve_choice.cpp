#include "espalier/sharding/improve_choice.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "espalier/model/numbers.h"
#include "espalier/sharding/fit_memory.h"

namespace espalier {
namespace {

constexpr int kMovesARound = 50;
constexpr int kTries = 5;
constexpr int kFitPasses = 20;

bool are_held_together(const Pairwise& problem, std::size_t v, std::size_t w) {
  for (const Pairwise::Hold& one : problem.holds_of(v))
    for (const Pairwise::Hold& other : problem.holds_of(w))
      if (one.from < other.to && other.from < one.to) return true;
  return false;
}

}  // namespace

ChoiceImprover::ChoiceImprover(const Pairwise& problem, std::vector<std::int32_t> states,
                               std::span<const double> multipliers,
                               std::span<const double> prices, std::uint64_t seed)
    : problem_(&problem),
      multipliers_(multipliers.begin(), multipliers.end()),
      prices_(prices.begin(), prices.end()),
      forest_(problem, std::move(states)),
      random_(seed) {
  for (std::size_t v = 0; v < problem.size(); ++v) {
    const auto own = std::span(prices_).subspan(
        problem.first_hold[v], problem.first_hold[v + 1] - problem.first_hold[v]);
    if (std::ranges::any_of(own, [](double price) { return price > 0; }))
      priced_.push_back(static_cast<std::int32_t>(v));
  }
}

ChoiceImprover::Standing ChoiceImprover::standing() const {
  return {forest_.forbidden(), std::max<Bytes>(0, forest_.memory().over()),
          forest_.cost()};
}

// One to four variables; the others are held with the first at some time.
void ChoiceImprover::pick_seeds() {
  seeds_.clear();
  const std::size_t count = 1 + random_() % 4;
  const bool priced = !priced_.empty() && random_() % 2 == 0;
  const auto any = [&] {
    return priced ? priced_[random_() % priced_.size()]
                  : static_cast<std::int32_t>(random_() % problem_->size());
  };
  seeds_.push_back(any());
  const std::size_t first = at(seeds_.front());
  for (std::size_t tries = 0; tries < 20 && seeds_.size() < count; ++tries) {
    const std::int32_t v = any();
    if (are_held_together(*problem_, first, at(v)) &&
        std::ranges::find(seeds_, v) == seeds_.end())
      seeds_.push_back(v);
  }
}

// Whether the cost is now below what it was.
bool ChoiceImprover::move(double temperature) {
  pick_seeds();
  const std::size_t most = std::size_t{8} << (random_() % 6);
  forest_.grow(seeds_, most, random_);
  const Standing before = standing();
  const auto unit = [&] { return (static_cast<double>(random_() >> 11) + 1) * 0x1p-53; };
  const double more = temperature > 0 ? -temperature * std::log(unit()) : 0;
  double scale = usual_scale_ * (0.5 + unit());
  double low = 0, high = 0;
  for (int k = 0; k < kTries; ++k) {
    forest_.choose(prices_, scale);
    const Standing after = standing();
    const bool no_worse =
        after.forbidden <= before.forbidden && after.over <= before.over;
    if (no_worse && (after <= before || after.cost <= before.cost + more)) {
      const bool better = after < before;
      if (better && k > 0) usual_scale_ = 0.95 * usual_scale_ + 0.05 * scale;
      return better;
    }
    const bool too_much = after.over > before.over;
    forest_.take_back();
    if (!too_much && after.forbidden > before.forbidden) return false;
    (too_much ? low : high) = scale;
    scale = high == 0 ? 2 * low : (low + high) / 2;
  }
  return false;
}

void ChoiceImprover::round(Incumbent& incumbent, double temperature) {
  if (problem_->size() == 0) return;
  if (!forest_.allowed())
    fit_memory(*problem_, multipliers_, kFitPasses, forest_, random_);
  const auto offer = [&] {
    if (forest_.forbidden() == 0 &&
        forest_.cost() + problem_->constant < static_cast<double>(incumbent.cost()) - 0.5)
      incumbent.offer(*problem_, forest_.states());
  };
  offer();
  const bool cold = temperature <= 0;
  for (int k = 0; k < kMovesARound; ++k)
    if (move(temperature) && !cold) offer();
  offer();
}

}  // namespace espalier
