#include "espalier/sequential/tree/reversal.h"

#include <algorithm>

namespace espalier {

Traversal reversal(Traversal traversal) {
  std::reverse(traversal.order.begin(), traversal.order.end());
  return traversal;
}

}  // namespace espalier
