#pragma once

#include <algorithm>
#include <cstdint>

#include "espalier/layout/layout.h"
#include "espalier/model/clock.h"

namespace espalier {

/// What is left of the limits of a layout while its searches run. Steps are counted in
/// every search, each for about the same work, so that an answer that ended by steps is
/// the same everywhere.
class LayoutBudget {
 public:
  explicit LayoutBudget(const LayoutOptions& options) : options_(&options) {}

  /// Counts steps; true when a limit is reached or the caller wants no more. Once true,
  /// true for ever.
  bool spend(std::int64_t steps) {
    steps_ += steps;
    since_look_ += steps;
    if (steps_ >= options_->steps) spent_ = true;
    if (since_look_ >= kLookEvery) look();
    return spent_;
  }
  /// Asks the clock and the caller now.
  bool look() {
    since_look_ = 0;
    const Seconds now = seconds();
    if (now >= options_->time) spent_ = true;
    if (!spent_ && options_->progress && now >= next_report_) {
      next_report_ = now + kReportEvery;
      spent_ = !options_->progress({now, capacity_bytes, lower_bound_bytes});
    }
    return spent_;
  }
  [[nodiscard]] bool was_spent() const { return spent_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }

  Bytes capacity_bytes = 0, lower_bound_bytes = 0;  ///< for reports

 private:
  static constexpr Seconds kReportEvery = 0.1;
  static constexpr std::int64_t kLookEvery = 20'000;

  [[nodiscard]] Seconds seconds() const { return since(start_); }

  const LayoutOptions* options_;
  Clock::time_point start_ = Clock::now();
  Seconds next_report_ = kReportEvery;
  std::int64_t steps_ = 0, since_look_ = 0;
  bool spent_ = false;
};

}  // namespace espalier
