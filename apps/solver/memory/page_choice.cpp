#include "solver/memory/page_choice.h"

#include <algorithm>

namespace espalier::solver {

PageChoice::Step PageChoice::next(Bytes bytes) {
  if (bytes < kTrial) {
    until_trial_ -= bytes;
    return {bytes, false};
  }
  const bool cheaper = price_[1] != kUnknown && price_[1] < price_[0];
  if (until_trial_ <= 0 && price_[0] != kUnknown) {
    until_trial_ = kBetweenTrials;
    return {kTrial, !cheaper};
  }
  const Step step{std::min(bytes, kLongest), cheaper};
  until_trial_ -= step.bytes;
  return step;
}

void PageChoice::paid(Step step, Seconds seconds) {
  if (step.bytes < kTrial) return;  // the calls themselves weigh too much
  price_[step.huge ? 1 : 0] = seconds / static_cast<double>(step.bytes);
}

}  // namespace espalier::solver
