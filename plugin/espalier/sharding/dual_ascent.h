#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/sharding/pairwise.h"

namespace espalier {

/// A lower bound of a pairwise problem, raised step by step.
///
/// The limit of section t has a multiplier l_t >= 0, a cost of each byte held then, so
/// that state s of variable v costs
///   c'_v(s) = c_v(s) + sum over holds h of v of u_h(s) L_h,
///   L_h = sum of l_t over from(h) <= t < to(h)
/// and no choice within the limit costs less than the least of that, less
/// sum of l_t room_t. The least in turn is bounded by moving costs between edges and
/// their ends: messages m make of them
///   c'_v(s) + sum over edges e of v of m_{e,v}(s)   and
///   c_e(s, t) - m_{e,a}(s) - m_{e,b}(t)
/// and the sum of the least entries of all these is a bound, whatever the messages
/// [Kol15]: sequential reweighted message passing. A pass over the variables in order
/// takes what edges from earlier ones can give, and spreads it over edges to later ones;
/// then backwards; the bound never falls.
///
/// Multipliers move by subgradients: towards more where a choice that is nearly least
/// holds more than there is room for. They are kept multiples of a power of two, so that
/// their sums are exact, and the rounding of messages is taken off the bound.
///
/// @par Cost  O(pair costs) a pass
class DualAscent {
 public:
  explicit DualAscent(const Pairwise& problem);

  /// One pass forwards and one backwards.
  void sweep();

  /// Certified, without the problem's constant.
  [[nodiscard]] double bound();

  /// What rounding can be off in all the sums of bound() and excess().
  [[nodiscard]] double rounding() const { return rounding_; }

  /// States chosen one variable after the other, each the best for those before it and
  /// the messages of those after it.
  [[nodiscard]] std::vector<std::int32_t> decode() const;

  /// l_t += step * direction_t, and not below 0.
  void move(std::span<const double> direction, double step);

  [[nodiscard]] std::span<const double> multipliers() const { return multipliers_; }
  void set_multipliers(std::span<const double> multipliers);

  /// By hold: L_h.
  [[nodiscard]] std::span<const double> prices() const { return prices_; }

  /// By state: no choice that has it costs less than bound() and this.
  [[nodiscard]] std::vector<double> excess() const;

 private:
  /// A part of the bound, and what its rounding is measured by.
  struct Terms {
    long double sum = 0, magnitude = 0;
  };
  [[nodiscard]] Terms node_terms() const;
  [[nodiscard]] Terms link_terms() const;
  void collect(std::size_t v, bool forward);
  void spread(std::size_t v, bool forward);
  void set_prices();
  [[nodiscard]] std::span<double> message(const Pairwise::Link& link, bool own);
  [[nodiscard]] std::span<const double> message(const Pairwise::Link& link,
                                                bool own) const;
  void least_over_other(const Pairwise::Link& link, std::span<double> out) const;

  const Pairwise* problem_;
  std::vector<double> multipliers_, prices_;
  std::vector<double> node_;                   // by state: costs with messages
  std::vector<double> messages_;               // of an edge: to a, then to b
  std::vector<std::size_t> first_message_;     // by edge
  std::vector<std::int32_t> earlier_, later_;  // by variable: edges to such ones
  std::vector<double> scratch_;
  double rounding_ = 0;  // of the last bound()
};

}  // namespace espalier
