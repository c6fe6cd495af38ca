#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "solver/solve/vectors.h"

namespace espalier::solver {

/// Where a front's part of the right-hand sides goes for rows that other fronts own: to
/// the vectors themselves below `limit`, else to `out`, which has an entry for each of
/// `rows`.
template <class T>
struct AncestorRows {
  std::int32_t limit = std::numeric_limits<std::int32_t>::max();
  std::span<const std::int32_t> rows{};  ///< ascending, none below the limit
  std::int32_t* place = nullptr;         ///< work space, as long as `rows`
  Vectors<T> out{};

  /// Finds the entries of `out` of a front's rows that are not below the limit, which are
  /// the last ones: place[0] that of the first of them.
  /// @param of_front  ascending; those not below the limit are among `rows`
  /// @return how many are below it
  /// @par Cost  O(log k) where none is beyond, of k; of those beyond, some steps each,
  ///            O(log g) where g of `rows` are passed over
  std::int32_t find_places(std::span<const std::int32_t> of_front) const;
  /// Adds a front's values, an entry for each of its rows, to `b` and to `out`.
  void add(std::span<const std::int32_t> of_front, const Vectors<T>& values,
           const Vectors<T>& b) const;
};

}  // namespace espalier::solver
