#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>

#include "espalier/model/buffer_set.h"
#include "espalier/model/error.h"
#include "espalier/model/layout.h"

namespace espalier {

/// How a search for a layout stands.
struct LayoutProgress {
  Seconds seconds = 0;
  Bytes capacity_bytes = 0;     ///< of the best layout so far
  Bytes lower_bound_bytes = 0;  ///< no layout needs less
};

struct LayoutOptions {
  /// Every offset, and the capacity, is a multiple of this; positive.
  Bytes alignment = 1;
  /// A layout of at most this capacity is good enough: the search ends there.
  std::optional<Bytes> capacity = {};
  Seconds time = 10;  ///< when the search ends with the best so far
  /// Steps of search at most: the answer is then the same on every machine, unless time
  /// ends the search first.
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();
  std::uint64_t seed = 1;
  /// Called some ten times a second at most. False: stop, with the best so far.
  std::function<bool(const LayoutProgress&)> progress = {};
};

/// Offsets for buffers in one piece of memory of least capacity, or the best that was
/// found inside the limits, with a lower bound. The problem is strongly NP-hard, so a
/// proof is not promised; `proved()` tells.
///
/// @throws InvalidInput for an alignment below 1, OverflowError when the sum of the
///         sizes, rounded up to it, leaves the 64-bit range
[[nodiscard]] Layout layout(const BufferSet& buffers, const LayoutOptions& options = {});

/// The answer that a layout does not fit in a capacity: impossible where the capacity is
/// below its lower bound, else none was found. `least_bytes` is what it needs.
[[nodiscard]] Infeasible infeasible(const Layout& best, Bytes capacity);

/// A layout inside a capacity, or the answer no: impossible where the lower bound is
/// above it, else none was found.
[[nodiscard]] Expected<Layout> layout_within(const BufferSet& buffers, Bytes capacity,
                                             LayoutOptions options = {});

}  // namespace espalier
