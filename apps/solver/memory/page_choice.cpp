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
  if (price(true) == kUnknown) return {kHugePage, true, true};
  const bool cheaper = huge_is_cheaper();
  if (price(true) < kClearing) until_trial_ = kBetweenTrials;
  if (until_trial_ <= 0) {
    until_trial_ = kBetweenTrials;
    return {kHugePage, !cheaper, true};
  }
  const bool known = cheaper || price(false) != kUnknown;
  const bool priced = !known || (cheaper && touched) || until_priced_ <= 0;
  const Step step{priced ? kHugePage : std::min(whole, kLongest), cheaper, priced};
  until_priced_ = priced ? kLongest : until_priced_ - step.bytes;
  until_trial_ -= step.bytes;
  return step;
}

void PageChoice::paid(Step step, Seconds seconds) {
  Prices& prices = prices_[step.huge ? 1 : 0];
  std::shift_right(prices.begin(), prices.end(), 1);
  prices.front() = seconds / static_cast<double>(step.bytes);
}

bool PageChoice::huge_is_cheaper() const {
  if (always_) return *always_;
  const double small = price(false);
  return price(true) < (small == kUnknown ? kClearing : kNearlyAlike * small);
}

}  // namespace espalier::solver
