#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "espalier/model/chain.h"

namespace espalier {

/// Values first … last of a row, whose differences come back after `period` places:
/// value(i) - value(i - period) is the same for all i - period >= first, i <= last.
struct PeriodicRun {
  std::int64_t first = 0, last = 0, period = 1;
};

/// Stretches of a row where its differences repeat themselves, found as values are
/// appended. Each run is what it says it is; not every stretch is found, and runs may
/// overlap.
///
/// @par Cost  O(1) a value on average where periods are short
/// @par Test  PeriodicRuns.AreWhatTheySay
class PeriodicRuns {
 public:
  /// `values` are all so far, the last of them new; `turns` as those of HullRow.
  void append(const std::vector<Nanoseconds>& values,
              const std::vector<std::int32_t>& turns);
  /// A run with value(i) in it.
  [[nodiscard]] std::optional<PeriodicRun> around(std::int64_t i) const;

 private:
  void close();
  void open(const std::vector<Nanoseconds>& values, std::int64_t last,
            std::int64_t period);

  std::vector<PeriodicRun> runs_;  // with ends that grow
  std::optional<PeriodicRun> now_;
  std::int64_t straight_ = 0;  // the last differences that are equal
};

}  // namespace espalier
