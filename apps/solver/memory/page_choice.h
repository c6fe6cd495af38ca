#pragma once

#include <array>

#include "espalier/model/units.h"

namespace espalier::solver {

/// Decides, by what it was told, whether fresh memory comes cheaper in small or in huge
/// pages.
///
/// On most machines huge pages are several times cheaper. On virtual ones whose host
/// takes back free memory it is the other way round: huge pages are what the host takes,
/// and each costs a call to it. So both are tried, a little of each, the dearer one again
/// after every kBetweenTrials bytes, and the cheaper of the last trials is taken.
class PageChoice {
 public:
  static constexpr Bytes kHugePage = Bytes{2} << 20;
  /// Small pages that are taken before the first trial: few bytes gain nothing.
  static constexpr Bytes kBeforeTrials = Bytes{32} << 20;
  static constexpr Bytes kBetweenTrials = Bytes{1} << 30;
  /// Twice a huge page, so that one lies inside wherever it starts.
  static constexpr Bytes kTrial = 2 * kHugePage;
  /// Longest step, so that a price that has changed is noticed.
  static constexpr Bytes kLongest = Bytes{32} << 20;
  /// Moves of less say nothing: the call itself weighs too much.
  static constexpr Bytes kLeastMoved = Bytes{256} << 10;

  struct Step {
    Bytes bytes;
    bool huge;
  };

  /// The next part of `bytes` > 0 to take, and as what.
  [[nodiscard]] Step next(Bytes bytes);
  /// What a step took of the processor.
  void paid(Step step, Seconds seconds);

  /// Whether so many bytes are made of pages that are kept, by moving them; else of fresh
  /// huge ones. A page that is moved may cost as much as a small fresh one.
  [[nodiscard]] bool moves(Bytes bytes) const;
  /// What it took to move and to clear so many bytes.
  void paid_for_moves(Bytes bytes, Seconds seconds);

 private:
  static constexpr double kUnknown = -1;

  [[nodiscard]] bool huge_is_cheaper() const;

  std::array<double, 2> price_{kUnknown, kUnknown};  // seconds a byte: small, huge
  double moved_price_ = kUnknown;                    // the same, cleared
  Bytes until_trial_ = kBeforeTrials;
};

}  // namespace espalier::solver
