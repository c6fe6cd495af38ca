#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace espalier {

/// Members first … first + period of a sequence, `count` times.
struct RepeatedRun {
  std::size_t first, period, count;
};

/// A sequence as runs, greedily from the left: each with the period, of at most 16, that
/// covers most.
template <class T>
[[nodiscard]] std::vector<RepeatedRun> repeated_runs(std::span<const T> sequence) {
  constexpr std::size_t kLongestPeriod = 16;
  std::vector<RepeatedRun> runs;
  for (std::size_t i = 0; i < sequence.size();) {
    RepeatedRun best{i, 1, 1};
    for (std::size_t p = 1; p <= kLongestPeriod && i + p <= sequence.size(); ++p) {
      std::size_t end = i + p;
      while (end < sequence.size() && sequence[end] == sequence[end - p]) ++end;
      const std::size_t count = (end - i) / p;
      if (count > 1 && count * p > best.count * best.period) best = {i, p, count};
    }
    runs.push_back(best);
    i += best.period * best.count;
  }
  return runs;
}

}  // namespace espalier
