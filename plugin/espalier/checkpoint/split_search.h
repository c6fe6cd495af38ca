#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "espalier/checkpoint/periodic_runs.h"
#include "espalier/model/chain.h"

namespace espalier {

/// Values at 0, 1, 2, … and their lower convex hull, which grows as values are appended.
class HullRow {
 public:
  explicit HullRow(std::size_t capacity);
  void append(Nanoseconds value);
  [[nodiscard]] std::size_t size() const { return value_.size(); }
  [[nodiscard]] Nanoseconds value(std::size_t i) const { return value_[i]; }
  /// Of the hull of all that has been appended; to within some units in the last place.
  [[nodiscard]] double hull(std::size_t i) const { return hull_[i]; }
  [[nodiscard]] const std::vector<Nanoseconds>& values() const { return value_; }
  /// Where the values turn upwards, value(i+1) - value(i) > value(i) - value(i-1), in
  /// order; the ends are none.
  [[nodiscard]] const std::vector<std::int32_t>& turns() const { return turn_; }
  [[nodiscard]] const PeriodicRuns& runs() const { return runs_; }

 private:
  std::vector<Nanoseconds> value_;
  std::vector<std::int32_t> turn_;
  PeriodicRuns runs_;
  std::vector<double> hull_;
  std::vector<std::size_t> vertex_;
};

/// The least of a base and of what splitting costs, for l = 1, 2, … in turn:
///   min(base, min over 1 <= j <= l of f(j)),
///   f(j) = j step + right(l-j) + constant + left(j-1).
///
/// Exact without trying every j, for three reasons.
///   - f is least at an end, or where it turns upwards, and there left or right does: at
///     j-1 or at l-j, a turn of its row. Steps cost the same each, so that the rows are
///     straight over long stretches and turns are few.
///   - The rows are not convex and the best j is not monotone in l, but they are nearly
///     so. With their lower convex hulls in their place f becomes a convex e <= f. From
///     where e is least the search goes outwards along the turns of either row, while e
///     says that something below the best so far may still come.
///   - Where stores cost something, e may stay below the best over a good part of all j,
///     and the rows turn every few places there; but they do so periodically. Where both
///     repeat themselves after P places, f(j + P) - f(j) is the same for all j, so that
///     of each j, j + P, j + 2 P, … the first or the last is least: the middle of a long
///     stretch is passed over.
///
/// @par Cost  O(1) and the number of turns where e is below the least value, but those in
///            the middle of periodic stretches; measured, a few at l = 10^5, some hundred
///            in late rows of a level with many slots
/// @par Test  SplitSearch.EqualsTryingAll
class SplitSearch {
 public:
  SplitSearch(Nanoseconds step, Nanoseconds constant)
      : step_(step), constant_(constant) {}

  struct Best {
    Nanoseconds value = 0;
    std::int32_t split = 0;  ///< j; 0: the base
  };
  /// @param right  has more than l-1 values
  /// @param left   likewise; where it has fewer, only j with a value are tried
  /// @pre called with l growing by one or more each time, at least 1
  [[nodiscard]] Best least(std::int64_t l, Nanoseconds base, const HullRow& right,
                           const HullRow& left);

 private:
  Nanoseconds step_, constant_;
  // At the last l: where e was least, and the first turns of left and right from there.
  std::int64_t lowest_ = 1;
  std::size_t left_turn_ = 0, right_turn_ = 0;
};

}  // namespace espalier
