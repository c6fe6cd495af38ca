#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "espalier/sharding/forest_search.h"
#include "espalier/sharding/incumbent.h"
#include "espalier/sharding/pairwise.h"

namespace espalier {

/// Makes a choice better by forests that are chosen anew, one after the other.
///
/// A move grows a forest from a few variables, mostly held at one time at which memory is
/// worth something, and chooses it for the given prices of memory. Where that holds too
/// much the prices go up, where it costs no less they go down, a few times; a move is
/// kept when nothing is forbidden, the limit is met, and the cost rises by no more than
/// a random multiple of the temperature. While a choice is forbidden or holds too much, a
/// move is kept when that does not grow.
class ChoiceImprover {
 public:
  /// @param multipliers  by section
  /// @param prices  what they make of a byte of each hold
  ChoiceImprover(const Pairwise& problem, std::vector<std::int32_t> states,
                 std::span<const double> multipliers, std::span<const double> prices,
                 std::uint64_t seed);

  /// Some moves; offers what is better.
  /// @param temperature  what a move may cost more, in the mean
  void round(Incumbent& incumbent, double temperature);

  [[nodiscard]] bool allowed() const { return forest_.allowed(); }

 private:
  struct Standing {
    std::int64_t forbidden;
    Bytes over;
    double cost;
    friend auto operator<=>(const Standing&, const Standing&) = default;
  };
  [[nodiscard]] Standing standing() const;
  void pick_seeds();
  bool move(double temperature);

  const Pairwise* problem_;
  std::vector<double> multipliers_, prices_;
  ForestSearch forest_;
  std::mt19937_64 random_;
  std::vector<std::int32_t> priced_;  // variables whose memory has a price
  std::vector<std::int32_t> seeds_;
  double usual_scale_ = 1;
};

}  // namespace espalier
