#include "training/operators/kernel.h"

#include <fmt/format.h>

#include "espalier/model/error.h"

namespace espalier::training {

const TensorShape& KernelTensors::input(std::size_t i) const {
  if (!has_input(i)) throw InvalidInput(fmt::format("input {} is missing", i + 1));
  return *inputs[i];
}

const TensorShape& KernelTensors::output(std::size_t i) const {
  if (!has_output(i)) throw InvalidInput(fmt::format("output {} is missing", i + 1));
  return *outputs[i];
}

}  // namespace espalier::training
