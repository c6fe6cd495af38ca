#include "solver/memory/page_choice.h"

#include <algorithm>

namespace espalier::solver {

PageChoice::Step PageChoice::next(Bytes bytes, Bytes before) {
  const Bytes whole = before > 0 ? 0 : bytes / kHugePage * kHugePage;
  if (whole == 0) {
    const Step small{before > 0 ? std::min(bytes, before) : bytes, false};
    until_trial_ -= small.bytes;
    return small;
  }
  const bool cheaper = huge_is_cheaper();
  if (until_trial_ <= 0 && price_[0] != kUnknown && !is_given_) {
    until_trial_ = kBetweenTrials;
    return {kHugePage, !cheaper};
  }
  Step step{std::min(whole, kLongest), cheaper};
  if (cheaper) {
    step.priced = until_priced_ <= 0 && !is_given_;
    if (step.priced) step.bytes = kHugePage;
    until_priced_ = step.priced ? kLongest : until_priced_ - step.bytes;
  }
  until_trial_ -= step.bytes;
  return step;
}

void PageChoice::paid(Step step, Seconds seconds) {
  if (is_given_ || step.bytes < kLeastPriced) return;
  price_[step.huge ? 1 : 0] = seconds / static_cast<double>(step.bytes);
}

bool PageChoice::huge_is_cheaper() const {
  return price_[1] != kUnknown && price_[1] < kNearlyAlike * price_[0];
}

}  // namespace espalier::solver
