#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

#include "espalier/model/processor_time.h"
#include "espalier/sharding/choose_strategies.h"

namespace espalier {

/// What is left of the limits of a search for strategies.
class ShardingBudget {
 public:
  explicit ShardingBudget(const ShardingOptions& options) : options_(&options) {}

  /// Counts a round and looks at the clock; true when a limit is reached or the caller
  /// wants no more. Once true, true for ever.
  bool spend() {
    if (++rounds_ > options_->rounds) spent_ = true;
    const Seconds passed = seconds();
    if (passed >= options_->time) spent_ = true;
    if (!spent_ && options_->progress && passed >= next_report_) {
      next_report_ = passed + kReportEvery;
      state.seconds = passed;
      spent_ = !options_->progress(state);
    }
    return spent_;
  }
  [[nodiscard]] bool was_spent() const { return spent_; }
  [[nodiscard]] Seconds seconds() const { return now() - start_; }
  /// 0 … 1: of the rounds where they are limited, so that the clock has no say in what is
  /// searched, else of the time.
  [[nodiscard]] double share() const {
    if (options_->rounds != std::numeric_limits<std::int64_t>::max())
      return static_cast<double>(rounds_) /
             static_cast<double>(std::max<std::int64_t>(1, options_->rounds));
    return options_->time > 0 ? seconds() / options_->time : 1;
  }

  ShardingProgress state;  ///< for reports

 private:
  static constexpr Seconds kReportEvery = 0.1;

  [[nodiscard]] Seconds now() const {
    if (options_->processor_time) return thread_seconds();
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(since).count();
  }

  const ShardingOptions* options_;
  Seconds start_ = now();
  Seconds next_report_ = kReportEvery;
  std::int64_t rounds_ = 0;
  bool spent_ = false;
};

}  // namespace espalier
