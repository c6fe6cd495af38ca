#pragma once

#include <cstdint>
#include <functional>

#include "espalier/model/clock.h"
#include "espalier/model/units.h"

namespace espalier {

/// How a search for the best order stands.
struct OrderProgress {
  Seconds seconds = 0;          ///< since it began
  std::int64_t states = 0;      ///< downsets at which there was a choice
  Bytes best_bytes = 0;         ///< peak of the best order so far
  Bytes lower_bound_bytes = 0;  ///< no order needs less
};

/// When a search for the best order stops before its end.
struct OrderLimits {
  /// Holds in every phase, from the first on; what the answer itself takes comes on top,
  /// about a tenth of a second for 10^6 operators.
  Seconds time = 60;
  std::int64_t states = std::int64_t{1} << 26;
  std::size_t bytes = std::size_t{1} << 30;  ///< of memory for downsets
  /// Called a few times a second at most. False: stop, with the best so far.
  std::function<bool(const OrderProgress&)> progress = {};
};

/// What is left of the limits while one search calls others.
class SearchBudget {
 public:
  explicit SearchBudget(const OrderLimits& limits) : limits_(&limits) {}

  /// Asks the clock, and now and then the caller. Once true, true for ever.
  [[nodiscard]] bool is_spent() {
    const Seconds now = seconds();
    if (now >= limits_->time || states_ >= limits_->states) spent_ = true;
    if (!spent_ && limits_->progress && now >= next_report_) {
      next_report_ = now + kReportEvery;
      spent_ = !limits_->progress({now, states_, best_bytes, lower_bound_bytes});
    }
    return spent_;
  }
  void count(std::int64_t states) { states_ += states; }
  [[nodiscard]] std::int64_t states() const { return states_; }
  [[nodiscard]] std::int64_t states_left() const { return limits_->states - states_; }
  [[nodiscard]] std::size_t bytes() const { return limits_->bytes; }
  [[nodiscard]] bool was_spent() const { return spent_; }

  Bytes best_bytes = 0, lower_bound_bytes = 0;  ///< for reports

 private:
  static constexpr Seconds kReportEvery = 0.1;

  [[nodiscard]] Seconds seconds() const { return since(start_); }

  const OrderLimits* limits_;
  Clock::time_point start_ = Clock::now();
  Seconds next_report_ = kReportEvery;
  std::int64_t states_ = 0;
  bool spent_ = false;
};

}  // namespace espalier
