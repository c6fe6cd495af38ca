#pragma once

#include <optional>

#include "espalier/model/clock.h"
#include "espalier/model/units.h"

namespace espalier {

/// Says when something is due that could be done often: the first time, and then 20 times
/// a second at most.
class Pace {
 public:
  [[nodiscard]] bool due() {
    constexpr Seconds kBetween = 0.05;
    if (last_ && since(*last_) < kBetween) return false;
    last_ = Clock::now();
    return true;
  }
  void begin_anew() { last_.reset(); }

 private:
  std::optional<Clock::time_point> last_;
};

}  // namespace espalier
