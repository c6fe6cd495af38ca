#pragma once

#include "espalier/model/units.h"

namespace espalier {

/// Most work of all tasks together: times that are made of it, and its products with
/// sizes, are finite.
inline constexpr Flops kMostWork = 1e250;

/// sum + work, of tasks one after the other. @throws OverflowError above kMostWork
[[nodiscard]] Flops add_work(Flops sum, Flops work);

}  // namespace espalier
