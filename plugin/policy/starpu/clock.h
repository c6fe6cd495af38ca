#pragma once

#include <starpu.h>

#include "espalier/model/units.h"

namespace espalier::policy {

/// StarPU's clock, which is simulated time under SimGrid.
[[nodiscard]] inline Seconds now() { return starpu_timing_now() * 1e-6; }

}  // namespace espalier::policy
