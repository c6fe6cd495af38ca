#pragma once

#include <array>
#include <limits>

#include "espalier/model/units.h"

namespace espalier::solver {

/// Decides, by what it was told, whether fresh memory comes cheaper in small or in huge
/// pages.
///
/// On most machines huge pages are several times cheaper. On virtual ones whose host
/// takes back free memory it is the other way round: huge pages are what the host takes,
/// and each costs a call to it. So the first huge page is priced. Where it costs more
/// than clearing it takes, small ones are tried, too, and so is the dearer kind after
/// every kBetweenTrials bytes. The cheaper of the last trials is taken; the huge one
/// where they are nearly alike, which is read faster then.
class PageChoice {
 public:
  static constexpr Bytes kHugePage = Bytes{2} << 20;
  static constexpr Bytes kBetweenTrials = Bytes{1} << 30;
  /// Longest step, and so much is taken until a page has to be priced once more, so that
  /// a price that has changed is noticed.
  static constexpr Bytes kLongest = Bytes{32} << 20;
  /// So many times as dear as small pages huge ones may be.
  static constexpr double kNearlyAlike = 1.25;
  /// What clearing a byte of a huge page costs at most, in seconds: 1 ms a page.
  static constexpr double kClearing = 1e-3 / static_cast<double>(kHugePage);

  struct Step {
    Bytes bytes;
    bool huge;
    bool priced;  ///< what it costs has to be found, with the first use of each page
  };

  PageChoice() = default;
  /// Of one kind always: no price is ever due.
  explicit PageChoice(bool huge)
      : price_{1, huge ? 0.0 : 2 * kNearlyAlike},
        until_trial_(kNever),
        until_priced_(kNever) {}

  /// The next part of `bytes` > 0 to take, and as what: huge pages begin where one may.
  /// @param before  bytes up to the next place where a huge page may begin
  [[nodiscard]] Step next(Bytes bytes, Bytes before = 0);
  /// What a step that has to be priced took of the processor.
  void paid(Step step, Seconds seconds);

  /// False as long as nothing is known.
  [[nodiscard]] bool huge_is_cheaper() const;

 private:
  static constexpr double kUnknown = -1;
  static constexpr Bytes kNever = std::numeric_limits<Bytes>::max();

  std::array<double, 2> price_{kUnknown, kUnknown};  // seconds a byte: small, huge
  Bytes until_trial_ = kBetweenTrials, until_priced_ = kLongest;
};

}  // namespace espalier::solver
