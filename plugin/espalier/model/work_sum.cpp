#include "espalier/model/work_sum.h"

#include <fmt/format.h>

#include "espalier/model/error.h"

namespace espalier {

Flops add_work(Flops sum, Flops work) {
  if (sum + work <= kMostWork) return sum + work;
  throw OverflowError(fmt::format("the sum of all work is above {}", kMostWork));
}

}  // namespace espalier
