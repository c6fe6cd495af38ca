#pragma once

#include <vector>

#include "espalier/model/units.h"

namespace espalier {

/// The answer to a BufferSet: where each buffer lies, and what is known of the best
/// layout.
struct Layout {
  std::vector<Bytes> offsets;   ///< by buffer
  Bytes capacity_bytes = 0;     ///< the highest end, rounded up to the alignment
  Bytes load_bytes = 0;         ///< the largest sum of (rounded) sizes alive at one time
  Bytes lower_bound_bytes = 0;  ///< no layout needs less; at least `load_bytes`
  bool stopped = false;         ///< a limit or the caller ended the search

  [[nodiscard]] bool proved() const { return capacity_bytes == lower_bound_bytes; }
};

}  // namespace espalier
