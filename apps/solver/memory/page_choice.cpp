#include "solver/memory/page_choice.h"

#include <algorithm>

namespace espalier::solver {

PageChoice::Step PageChoice::next(Bytes bytes) {
  if (bytes < kTrial) {
    until_trial_ -= bytes;
    return {bytes, false};
  }
  const bool cheaper = huge_is_cheaper();
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

bool PageChoice::huge_is_cheaper() const {
  return price_[1] != kUnknown && price_[1] < price_[0];
}

bool PageChoice::moves(Bytes bytes) const {
  return bytes < kTrial || !huge_is_cheaper() || moved_price_ <= price_[1];
}

void PageChoice::paid_for_moves(Bytes bytes, Seconds seconds) {
  if (bytes < kLeastMoved) return;
  moved_price_ = seconds / static_cast<double>(bytes);
}

}  // namespace espalier::solver
