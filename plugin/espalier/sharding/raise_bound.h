#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "espalier/sharding/dual_ascent.h"
#include "espalier/sharding/forest_search.h"
#include "espalier/sharding/incumbent.h"
#include "espalier/sharding/pairwise.h"

namespace espalier {

/// Raises the bound of DualAscent by multipliers of the limit, and offers the choices
/// that it meets on the way.
///
/// A round is a sweep of messages, a choice decoded from them and made better by forests,
/// and a step of the multipliers along what that choice holds above and below the limit,
/// smoothed over rounds. The step is Polyak's, towards the best cost known or 10 % above
/// the bound; where the bound falls far, the multipliers go back to where it was best,
/// and steps get shorter.
class BoundRaiser {
 public:
  /// Begins with the given multipliers, if any.
  BoundRaiser(const Pairwise& problem, std::uint64_t seed,
              std::span<const double> multipliers = {});

  void round(Incumbent& incumbent);

  /// With the problem's constant; of the best round so far.
  [[nodiscard]] double bound() const { return best_bound_; }
  [[nodiscard]] std::span<const double> multipliers() const { return best_multipliers_; }
  /// L_h of DualAscent in the best round.
  [[nodiscard]] std::span<const double> prices() const { return best_prices_; }
  /// Rounds without a rise of the bound worth a ten-thousandth.
  [[nodiscard]] std::int32_t idle_rounds() const { return idle_; }
  [[nodiscard]] std::span<const std::int32_t> states() const { return forest_.states(); }

  /// What the messages of this round tell of each state.
  struct Judgement {
    std::vector<char> worth;     ///< a choice that has it may cost at most `cost`
    std::vector<double> excess;  ///< how far a choice that has it is above the bound
  };
  [[nodiscard]] Judgement judge(double cost);

 private:
  void offer_choices(Incumbent& incumbent);
  void offer(Incumbent& incumbent);
  void note_bound(double bound);
  void step(double bound, const Incumbent& incumbent);

  const Pairwise* problem_;
  DualAscent dual_;
  ForestSearch forest_;
  std::mt19937_64 random_;
  std::vector<Bytes> over_;
  std::vector<double> direction_, best_multipliers_, best_prices_;
  double best_bound_, marked_bound_;
  double length_ = 1;
  std::int32_t rounds_ = 0, idle_ = 0, falls_ = 0;
};

}  // namespace espalier
