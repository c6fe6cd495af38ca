#pragma once

#include <cstdint>
#include <functional>

namespace espalier::solver {

/// Asks between the fronts of a solve whether it shall go on: whenever so many entries of
/// the factor, for each vector, have been gone over since the last time. That is some
/// 100 us, and the same places in every run.
class PacedAsk {
 public:
  static constexpr std::int64_t kEntries = 1 << 18;

  /// @param ask  what it throws ends the solve; outlives this; empty: nobody asks
  explicit PacedAsk(const std::function<void()>& ask) : ask_(ask) {}

  /// @param entries  of a front, times vectors, that is gone over next
  void before(std::int64_t entries) {
    passed_ += entries;
    if (passed_ < kEntries || !ask_) return;
    passed_ = 0;
    ask_();
  }

 private:
  const std::function<void()>& ask_;
  std::int64_t passed_ = 0;
};

}  // namespace espalier::solver
