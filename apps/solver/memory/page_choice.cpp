#include "solver/memory/page_choice.h"

#include <algorithm>

namespace espalier::solver {

PageChoice::Step PageChoice::next(Bytes bytes, Bytes before) {
  Step step{std::min(bytes, before), false};
  if (step.bytes == 0) {
    const Bytes whole = bytes / kHugePage * kHugePage;
    step.bytes = whole > 0 ? std::min(whole, kLongest) : bytes;
    const bool cheaper = huge_is_cheaper();
    const bool trial = until_trial_ <= 0 && price_[0] != kUnknown && !is_given_;
    step.huge = whole > 0 && cheaper != trial;
    if (whole > 0 && trial) {
      until_trial_ = kBetweenTrials;
      return {kHugePage, step.huge};
    }
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
