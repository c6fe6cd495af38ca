#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "espalier/model/operator_graph.h"

namespace espalier::training {

/// An element that is no finite number, and who wrote it.
struct OddValue {
  std::int64_t position = 0;     ///< of the operator in the order of the step
  std::optional<OperatorId> op;  ///< nothing: an input of the step
  TensorId tensor{};
  std::int64_t element = 0;  ///< the first such one, as the tensor lies in memory
  float value = 0;
};

/// "operator 'fc1' (Gemm) wrote nan into tensor 'y' (4x8)"
[[nodiscard]] std::string describe(const OperatorGraph& graph, const OddValue& odd);

/// The elements of a tensor of single precision.
[[nodiscard]] inline std::span<const float> floats(const std::byte* bytes,
                                                   const Tensor& tensor) {
  return {reinterpret_cast<const float*>(bytes),
          static_cast<std::size_t>(tensor.bytes) / sizeof(float)};
}

/// Looks at what the operators of a step write. Of all that was looked at it keeps the
/// NaN, and the infinity, of the operator that comes first in the order. Calls from
/// several threads are fine.
/// @par Cost  reads each element once
class ValueCheck {
 public:
  void look(std::int64_t position, std::optional<OperatorId> op, TensorId tensor,
            std::span<const float> values);

  [[nodiscard]] const std::optional<OddValue>& first_nan() const { return nan_; }
  [[nodiscard]] const std::optional<OddValue>& first_infinity() const {
    return infinity_;
  }

 private:
  std::mutex mutex_;
  std::optional<OddValue> nan_, infinity_;
};

}  // namespace espalier::training
