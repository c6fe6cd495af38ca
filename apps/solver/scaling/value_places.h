#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "solver/matrix/sparse_matrix.h"

namespace espalier::solver {

/// Where the values of a small symmetric pattern stand in the matrix that is factored,
/// for those who give values of the same pattern again and again: refill() searches for
/// every one of them, which takes as long as a tenth of the factorisation.
class ValuePlaces {
 public:
  /// Entries up to which a pattern is kept: with its columns 256 KiB.
  static constexpr std::int64_t kMost = std::int64_t{1} << 14;

  /// @param given   lower triangle, as it was put into the target by refill() unscaled
  /// @param order   Symbolic::permutation of the analysis
  /// @param target  has an entry for each of `given`
  ValuePlaces(const SymmetricMatrix& given, std::span<const std::int32_t> order,
              const SymmetricMatrix& target);

  /// Whether a matrix has this pattern, and as many values.
  [[nodiscard]] bool are_of(const SymmetricMatrix& given) const;

  /// Puts values of this pattern where they belong; other values of the target stay.
  /// @return the largest modulus; none: one is not finite, and the target is as it was
  /// @par Test  ReplaceValues.AreTheSameBitsByKeptPlaces
  [[nodiscard]] std::optional<double> put(std::span<const double> values,
                                          SymmetricMatrix& target) const;

 private:
  std::vector<std::int64_t> column_start_;
  std::vector<std::int32_t> row_, place_;
};

}  // namespace espalier::solver
