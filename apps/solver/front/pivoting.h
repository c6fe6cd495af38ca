#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>

#include "espalier/model/units.h"
#include "espalier/solver/results.h"

namespace espalier::solver {

/// How pivots are chosen.
struct PivotOptions {
  /// Cholesky: a pivot of at most this part of the diagonal entry of A that it came from
  /// is rounding, and counts as not positive.
  double least_part = 0;
  /// LDL^T, LU, here and below. Entries of L are at most 1 / threshold: smaller pivots
  /// are delayed to the parent.
  double threshold = 0.01;
  /// What counts as zero, in the scaling of the matrix: a pivot of that size or less is
  /// never taken as it is.
  double zero = 0;
  /// What a pivot is replaced by when it must be taken and is smaller.
  double perturbation = 0;
  /// What a zero pivot of a whole system is replaced by; 0: by `perturbation`, which
  /// tells null vectors by the size that solves give them. What is as large as entries
  /// are makes solves of the others as good as those of a regular system.
  double of_zero = 0;
  /// Memory for delayed columns; when it is used up, pivots are taken as they are, and
  /// perturbed where they are too small (static pivoting).
  Bytes delay_reserve = std::numeric_limits<Bytes>::max();
};

/// Adds up what the pivots were, and keeps the earliest bad one. Safe from any thread.
class PivotLog {
 public:
  /// In the place of a column: nobody wants the factor any more.
  static constexpr std::int32_t kEnded = -1;

  void fail(std::int32_t column) noexcept;
  [[nodiscard]] bool failed() const noexcept {
    return column_.load(std::memory_order_relaxed) != kNone;
  }
  /// By a bad pivot in a column before this one: what is computed for it serves nobody.
  [[nodiscard]] bool failed_before(std::int32_t column) const noexcept {
    return column_.load(std::memory_order_relaxed) < column;
  }
  [[nodiscard]] std::optional<NotPositiveDefinite> failure() const;

  void add(const PivotStatistics& counts) noexcept;
  [[nodiscard]] PivotStatistics statistics() const;

 private:
  static constexpr std::int32_t kNone = std::numeric_limits<std::int32_t>::max();
  std::atomic<std::int32_t> column_{kNone};
  std::atomic<std::int64_t> delayed_{0}, perturbed_{0}, null_space_{0}, negative_{0},
      two_by_two_{0}, not_delayed_{0};
  std::atomic<double> smallest_{std::numeric_limits<double>::infinity()};
};

}  // namespace espalier::solver
