#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>

#include "espalier/model/units.h"

namespace espalier::solver {

/// Decides, by what it was told, whether fresh memory comes cheaper in small or in huge
/// pages.
///
/// On most machines huge pages are several times cheaper. On virtual ones whose host
/// takes back free memory, huge pages are what the host takes: a few that others have
/// just left cost what clearing them does, and each of all others a call to the host,
/// while small ones may be left for long. So prices are those of the last pages, of which
/// as many as possible are priced. Small ones are priced beside what is taken, on a few
/// that go back at once. Where they are cheap, the first kFirst bytes are small: a huge
/// page that the host has yet to find costs ten times what small ones of its size do
/// there. As long as huge ones cost no more than clearing nothing else is tried from then
/// on; else the dearer kind is after kBetweenTrials bytes, and after twice as many each
/// time that it has stayed the dearer one. Of the last two prices of a kind the lower one
/// counts: what else runs only makes one dearer. The cheaper kind is taken; the huge one
/// where they are nearly alike, which is read faster and passed on for nothing.
class PageChoice {
 public:
  static constexpr Bytes kHugePage = Bytes{2} << 20;
  static constexpr Bytes kFirst = Bytes{8} << 20;
  static constexpr Bytes kSample = Bytes{64} << 10;
  static constexpr Bytes kBetweenTrials = Bytes{64} << 20;
  static constexpr Bytes kMostBetweenTrials = Bytes{1} << 30;
  /// Longest step, and so much is taken until a page has to be priced once more.
  static constexpr Bytes kLongest = Bytes{8} << 20;
  /// So many times as dear as small pages huge ones may be.
  static constexpr double kNearlyAlike = 2;
  /// Trials of a kind that are remembered.
  static constexpr std::size_t kRemembered = 2;
  /// What clearing a byte of a huge page costs at most, in seconds: 1 ms a page.
  static constexpr double kClearing = 1e-3 / static_cast<double>(kHugePage);
  /// So dear small pages may be, in seconds a byte, that no huge ones are tried at first.
  static constexpr double kCheap = kNearlyAlike * kClearing;

  struct Step {
    Bytes bytes;
    bool huge;
    bool priced;  ///< what it costs has to be found, with the first use of each page
    bool aside = false;  ///< of pages beside what is taken, which go back at once
  };

  PageChoice() = default;
  /// Of one kind always: no price is ever due.
  explicit PageChoice(bool huge) : always_(huge) {}

  /// The next part of `bytes` > 0 to take, and as what: huge pages begin where one may.
  /// @param before   bytes up to the next place where a huge page may begin
  /// @param touched  huge pages are used at once, so that each can be priced
  [[nodiscard]] Step next(Bytes bytes, Bytes before = 0, bool touched = false);
  /// What a step that has to be priced took of the processor.
  void paid(Step step, Seconds seconds);

  /// False as long as nothing is known.
  [[nodiscard]] bool huge_is_cheaper() const;

 private:
  static constexpr double kUnknown = std::numeric_limits<double>::infinity();
  using Prices = std::array<double, kRemembered>;  // the last one first
  static constexpr Prices unknown() {
    Prices none{};
    none.fill(kUnknown);
    return none;
  }
  [[nodiscard]] double price(bool huge) const {
    return std::ranges::min(prices_[huge ? 1 : 0]);
  }

  [[nodiscard]] Step first_small(Bytes whole);

  std::optional<bool> always_;                          // huge ones, or small ones
  std::array<Prices, 2> prices_{unknown(), unknown()};  // seconds a byte: small, huge
  Bytes between_trials_ = kBetweenTrials;
  Bytes until_trial_ = kFirst, until_priced_ = kLongest;
};

}  // namespace espalier::solver
