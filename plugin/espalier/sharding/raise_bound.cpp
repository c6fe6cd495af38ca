#include "espalier/sharding/raise_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "espalier/sharding/fit_memory.h"

namespace espalier {
namespace {

constexpr std::int32_t kFirstStep = 5;  // rounds before: messages come first
constexpr std::int32_t kFitEvery = 24;  // rounds
constexpr int kBoundFitPasses = 30;

}  // namespace

BoundRaiser::BoundRaiser(const Pairwise& problem, std::uint64_t seed,
                         std::span<const double> multipliers)
    : problem_(&problem),
      dual_(problem),
      forest_(problem, std::vector<std::int32_t>(problem.size(), 0)),
      random_(seed),
      direction_(problem.room.size()),
      best_bound_(-std::numeric_limits<double>::infinity()),
      marked_bound_(best_bound_) {
  if (multipliers.size() == problem.room.size()) dual_.set_multipliers(multipliers);
}

void BoundRaiser::round(Incumbent& incumbent) {
  dual_.sweep();
  const double bound = dual_.bound() + problem_->constant;
  note_bound(bound);
  forest_.set_states(dual_.decode());
  offer_choices(incumbent);
  if (++rounds_ >= kFirstStep && !problem_->room.empty()) step(bound, incumbent);
}

void BoundRaiser::note_bound(double bound) {
  ++idle_;
  if (bound <= best_bound_) return;
  best_bound_ = bound;
  best_multipliers_.assign(dual_.multipliers().begin(), dual_.multipliers().end());
  best_prices_.assign(dual_.prices().begin(), dual_.prices().end());
  if (bound > marked_bound_ + 1e-4 * (std::abs(bound) + 1)) {
    marked_bound_ = bound;
    idle_ = 0;
  }
}

void BoundRaiser::offer_choices(Incumbent& incumbent) {
  for (std::int32_t pass = 0; pass < 2; ++pass) {
    forest_.grow_everywhere(random_);
    forest_.choose(dual_.prices(), 1);
    offer(incumbent);
  }
  // Steps follow what is held now.
  over_ = forest_.memory().all();
  const std::int32_t every = incumbent.found() ? kFitEvery : kFitEvery / 3;
  if (rounds_ % every != every - 1 || forest_.allowed()) return;
  if (fit_memory(*problem_, dual_.multipliers(), kBoundFitPasses, forest_, random_))
    offer(incumbent);
}

void BoundRaiser::offer(Incumbent& incumbent) {
  if (forest_.forbidden() == 0 &&
      forest_.cost() + problem_->constant < static_cast<double>(incumbent.cost()))
    incumbent.offer(*problem_, forest_.states());
}

void BoundRaiser::step(double bound, const Incumbent& incumbent) {
  const double scale = std::abs(best_bound_) + 1;
  if (bound < best_bound_ - 0.1 * scale && ++falls_ > 10) {
    falls_ = 0;
    length_ /= 2;
    dual_.set_multipliers(best_multipliers_);
    std::ranges::fill(direction_, 0);
    return;
  }
  if (bound >= best_bound_) falls_ = 0, length_ = std::min(2.0, length_ * 1.02);
  if (idle_ > 0 && idle_ % 30 == 0) length_ = std::max(0.01, length_ * 0.8);
  double norm = 0;
  for (std::size_t t = 0; t < over_.size(); ++t) {
    const auto part = static_cast<double>(over_[t]);
    double& along = direction_[t];
    along = 0.6 * along + 0.4 * part;
    if (along < 0 && dual_.multipliers()[t] == 0) along = 0;
    norm += along * along;
  }
  if (norm == 0) return;
  const double goal =
      std::min(static_cast<double>(incumbent.cost()), best_bound_ + 0.1 * scale);
  const double gap = std::max(goal - bound, 1e-4 * scale);
  dual_.move(direction_, length_ * std::min(gap, 0.1 * scale) / norm);
}

BoundRaiser::Judgement BoundRaiser::judge(double cost) {
  const double left = cost - problem_->constant - dual_.bound();
  Judgement judgement{{}, dual_.excess()};
  for (const double excess : judgement.excess)
    judgement.worth.push_back(excess * (1 - 1e-9) - dual_.rounding() <= left ? 1 : 0);
  return judgement;
}

}  // namespace espalier
