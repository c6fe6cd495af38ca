#include "policy/core/sequential_run.h"

#include <algorithm>

namespace espalier::policy {

SequentialRun::Number SequentialRun::append(Bytes alloc) {
  steps_.emplace_back().alloc = alloc;
  return next() - 1;
}

SequentialRun::Number SequentialRun::pass() {
  steps_.emplace_back().end();
  return next() - 1;
}

void SequentialRun::frees(Number task, Bytes bytes) {
  if (task < first_)
    before_ -= bytes;
  else
    steps_[task - first_].add_free(bytes);
}

void SequentialRun::end(Number task) {
  steps_[task - first_].end();
  latest_ended_ = std::max(latest_ended_, task);
  for (; !steps_.empty() && steps_.front().ended(); ++first_) {
    least_ = std::max(least_, before_ + steps_.front().alloc);
    before_ += steps_.front().alloc - steps_.front().free();
    steps_.pop_front();
  }
}

void SequentialRun::holds(Bytes bytes) {
  before_ += bytes;
  least_ = std::max(least_, before_);
}

Bytes SequentialRun::least() const {
  Bytes least = least_, memory = before_;
  for (const Step& step : steps_) {
    least = std::max(least, memory + step.alloc);
    memory += step.alloc - step.free();
  }
  return least;
}

}  // namespace espalier::policy
