#include "solver/memory/page_choice.h"

#include <algorithm>

namespace espalier::solver {

PageChoice::Step PageChoice::next(Bytes bytes, Bytes before, bool touched) {
  const Bytes whole = before > 0 ? 0 : bytes / kHugePage * kHugePage;
  if (whole == 0) {
    const Step small{before > 0 ? std::min(bytes, before) : bytes, false, false};
    until_trial_ -= small.bytes;
    return small;
  }
  if (always_) return {std::min(whole, kLongest), *always_, false};
  if (prices_[0].back() == kUnknown) return {kSample, false, true, true};
  if (price(true) == kUnknown && until_trial_ > 0 && price(false) < kCheap)
    return first_small(whole);
  const bool cheaper = huge_is_cheaper();
  if (price(true) < kClearing) until_trial_ = between_trials_;
  if (price(true) == kUnknown || until_trial_ <= 0) {
    if (price(true) != kUnknown)
      between_trials_ = std::min(2 * between_trials_, kMostBetweenTrials);
    until_trial_ = between_trials_;
    return {kHugePage, !cheaper, true};
  }
  const bool priced = (cheaper && touched) || until_priced_ <= 0;
  const Step step{priced ? kHugePage : std::min(whole, kLongest), cheaper, priced};
  until_priced_ = priced ? kLongest : until_priced_ - step.bytes;
  until_trial_ -= step.bytes;
  return step;
}

// What little a process may need at all is not worth the price of a first huge page.
PageChoice::Step PageChoice::first_small(Bytes whole) {
  const Bytes left = (until_trial_ + kHugePage - 1) / kHugePage * kHugePage;
  const Step step{std::min(whole, left), false, false};
  until_trial_ -= step.bytes;
  return step;
}

void PageChoice::paid(Step step, Seconds seconds) {
  const bool before = huge_is_cheaper();
  Prices& prices = prices_[step.huge ? 1 : 0];
  std::shift_right(prices.begin(), prices.end(), 1);
  prices.front() = seconds / static_cast<double>(step.bytes);
  if (huge_is_cheaper() != before) between_trials_ = kBetweenTrials;
}

bool PageChoice::huge_is_cheaper() const {
  if (always_) return *always_;
  if (price(true) == kUnknown) return false;
  return price(true) < std::max(kClearing, kNearlyAlike * price(false));
}

}  // namespace espalier::solver
