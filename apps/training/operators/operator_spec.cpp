#include "training/operators/operator_spec.h"

#include "espalier/model/error.h"

namespace espalier::training {

bool uses_result(const OperatorSpec& spec) {
  switch (spec.unary) {
    case UnaryFunction::kLeakyRelu:
    case UnaryFunction::kElu:
      return spec.alpha >= 0;
    case UnaryFunction::kSelu:
      return spec.alpha >= 0 && spec.beta >= 0;
    case UnaryFunction::kRelu:
    case UnaryFunction::kSigmoid:
    case UnaryFunction::kTanh:
    case UnaryFunction::kExp:
    case UnaryFunction::kSqrt:
    case UnaryFunction::kReciprocal:
      return true;
    default:
      return false;
  }
}

ElementType max_pool_index(const Window& window) {
  std::int64_t points = 1;
  for (const std::int64_t size : window.kernel) points = checked_mul(points, size);
  return points <= 255 ? ElementType::kUint8 : ElementType::kInt32;
}

}  // namespace espalier::training
