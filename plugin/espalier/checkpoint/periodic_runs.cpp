#include "espalier/checkpoint/periodic_runs.h"

#include <algorithm>

namespace espalier {
namespace {

constexpr std::int64_t kStraight = 32;   // differences that make a run of period 1
constexpr std::size_t kTurnsBack = 8;    // of a period at most
constexpr std::int64_t kPeriods = 4;     // of a run that is kept, at least
constexpr std::int64_t kExtension = 64;  // periods that a new run is followed back

Nanoseconds difference(const std::vector<Nanoseconds>& values, std::int64_t i) {
  const auto at = static_cast<std::size_t>(i);
  return values[at] - values[at - 1];
}

bool repeats(const std::vector<Nanoseconds>& values, std::int64_t i,
             std::int64_t period) {
  return difference(values, i) == difference(values, i - period);
}

// The shortest period from one turn to a later one that the last differences have had
// twice; 0: none.
std::int64_t period_at(const std::vector<Nanoseconds>& values,
                       const std::vector<std::int32_t>& turns, std::int64_t last) {
  for (std::size_t back = 1; back <= kTurnsBack && back < turns.size(); ++back) {
    const std::int64_t period = turns.back() - turns[turns.size() - 1 - back];
    if (last - 2 * period < 0) return 0;
    std::int64_t i = last;
    while (i > last - period && repeats(values, i, period)) --i;
    if (i == last - period) return period;
  }
  return 0;
}

}  // namespace

void PeriodicRuns::close() {
  if (now_ && now_->last - now_->first >= kPeriods * now_->period) {
    // Ends grow: what ends later and begins earlier is all that counts.
    while (!runs_.empty() && runs_.back().first >= now_->first) runs_.pop_back();
    runs_.push_back(*now_);
  }
  now_.reset();
}

void PeriodicRuns::open(const std::vector<Nanoseconds>& values, std::int64_t last,
                        std::int64_t period) {
  std::int64_t first = last - 2 * period;
  const std::int64_t stop = std::max<std::int64_t>(0, first - kExtension * period);
  while (first > stop && repeats(values, first + period, period)) --first;
  now_ = PeriodicRun{first, last, period};
}

void PeriodicRuns::append(const std::vector<Nanoseconds>& values,
                          const std::vector<std::int32_t>& turns) {
  const auto last = static_cast<std::int64_t>(values.size()) - 1;
  if (last < 2) return;
  straight_ = repeats(values, last, 1) ? straight_ + 1 : 0;
  if (now_ && repeats(values, last, now_->period)) {
    now_->last = last;
    return;
  }
  close();
  if (straight_ >= kStraight) return open(values, last, 1);
  if (turns.empty() || turns.back() != last - 1) return;
  if (const std::int64_t period = period_at(values, turns, last); period > 0)
    open(values, last, period);
}

std::optional<PeriodicRun> PeriodicRuns::around(std::int64_t i) const {
  if (now_ && i >= now_->first && i <= now_->last) return now_;
  const auto run = std::partition_point(
      runs_.begin(), runs_.end(), [&](const PeriodicRun& each) { return each.last < i; });
  if (run == runs_.end() || run->first > i) return std::nullopt;
  return *run;
}

}  // namespace espalier
