#include "espalier/model/plan.h"

#include <algorithm>

namespace espalier {

Seconds LowerBounds::best() const { return std::max({work, critical_path, memory_area}); }

}  // namespace espalier
