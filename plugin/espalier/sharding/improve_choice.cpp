#include "espalier/sharding/improve_choice.h"

#include <algorithm>
#include <utility>

#include "espalier/sharding/fit_memory.h"

namespace espalier {
namespace {

constexpr int kMovesARound = 50;
constexpr int kTries = 5;
constexpr int kFitPasses = 20;

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

ChoiceImprover::ChoiceImprover(const Pairwise& problem, std::vector<std::int32_t> states,
                               std::span<const double> multipliers,
                               std::span<const double> prices, std::uint64_t seed)
    : problem_(&problem),
      multipliers_(multipliers.begin(), multipliers.end()),
      prices_(prices.begin(), prices.end()),
      forest_(problem, std::move(states)),
      random_(seed) {
  for (std::size_t v = 0; v < problem.size(); ++v)
    if (prices_[v] > 0) priced_.push_back(static_cast<std::int32_t>(v));
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
    const bool meet = problem_->from[at(v)] < problem_->to[first] &&
                      problem_->from[first] < problem_->to[at(v)];
    if (meet && std::ranges::find(seeds_, v) == seeds_.end()) seeds_.push_back(v);
  }
}

bool ChoiceImprover::move() {
  pick_seeds();
  const std::size_t most = std::size_t{8} << (random_() % 6);
  forest_.grow(seeds_, most, random_);
  const Standing before = standing();
  double scale = usual_scale_ * (0.5 + static_cast<double>(random_() % 1024) / 1024);
  double low = 0, high = 0;
  for (int k = 0; k < kTries; ++k) {
    forest_.choose(prices_, scale);
    const Standing after = standing();
    if (after <= before) {
      const bool better = after < before;
      if (better && k > 0) usual_scale_ = 0.95 * usual_scale_ + 0.05 * scale;
      return better;
    }
    const bool too_much = after.over > before.over;
    forest_.take_back();
    if (!too_much && after.forbidden > before.forbidden) return false;
    (too_much ? low : high) = scale;
    if (high == 0) {
      scale = 2 * low;
    } else {
      scale = (low + high) / 2;
    }
  }
  return false;
}

void ChoiceImprover::round(Incumbent& incumbent) {
  if (problem_->size() == 0) return;
  bool better = false;
  if (!forest_.allowed())
    better = fit_memory(*problem_, multipliers_, kFitPasses, forest_, random_);
  for (int k = 0; k < kMovesARound; ++k) better = move() || better;
  if (better && forest_.forbidden() == 0) incumbent.offer(*problem_, forest_.states());
}

}  // namespace espalier
