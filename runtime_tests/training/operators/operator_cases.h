#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "training/operators/kernel.h"

namespace espalier::training {

using Values = std::vector<double>;

/// A tensor of a case: an input, an output or the gradient of output 0 of the forward
/// operator.
struct CaseTensor {
  enum class Of : std::int8_t { kInput, kOutput, kGradient };
  Of of = Of::kGradient;
  std::size_t number = 0;
};
inline CaseTensor in(std::size_t i) { return {CaseTensor::Of::kInput, i}; }
inline CaseTensor out(std::size_t i) { return {CaseTensor::Of::kOutput, i}; }
inline CaseTensor g() { return {}; }

/// A backward operator: what it reads, and of which inputs it writes the gradient.
struct BackwardCase {
  OperatorSpec spec;
  std::vector<CaseTensor> reads;
  std::vector<std::size_t> writes;
};

/// A forward operator on given shapes with its backward operators.
struct OperatorCase {
  std::string name;
  OperatorSpec spec;
  std::vector<TensorShape> inputs, outputs;
  std::vector<BackwardCase> backward = {};
  /// Input i takes values in [low, high]; whole numbers where its type says so.
  double low = -1, high = 1;
};

[[nodiscard]] std::vector<OperatorCase> operator_cases();

}  // namespace espalier::training
