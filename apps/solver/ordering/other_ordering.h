#pragma once

#include <cstdint>
#include <optional>

#include "espalier/solver/options.h"

namespace espalier::solver {

/// What kAuto may take instead of what it took, for the sake of memory: a dissection for
/// AMD, else AMD. None: nothing else is there, or nothing is to be gained (kNatural).
[[nodiscard]] std::optional<OrderingKind> other_ordering(OrderingKind taken,
                                                         std::int32_t size);

}  // namespace espalier::solver
