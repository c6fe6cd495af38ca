#include "training/operators/operator_spec.h"

#include "espalier/model/error.h"

namespace espalier::training {

bool uses_result(UnaryFunction function) {
  switch (function) {
    case UnaryFunction::kRelu:
    case UnaryFunction::kLeakyRelu:
    case UnaryFunction::kElu:
    case UnaryFunction::kSigmoid:
    case UnaryFunction::kTanh:
    case UnaryFunction::kExp:
    case UnaryFunction::kSqrt:
      return true;
    default:
      return false;
  }
}

Bytes max_pool_index_bytes(const Window& window) {
  std::int64_t points = 1;
  for (const std::int64_t size : window.kernel) points = checked_mul(points, size);
  return points <= 255 ? 1 : 4;
}

}  // namespace espalier::training
