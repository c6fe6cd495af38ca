#include "espalier/sharding/zero.h"

namespace espalier {

std::optional<OptimiserBytes> optimiser_bytes(std::string_view name, bool mixed) {
  OptimiserBytes bytes = mixed ? OptimiserBytes{2, 2, 4} : OptimiserBytes{4, 4, 0};
  if (name == "momentum") {
    bytes.states += 4;
  } else if (name == "adam") {
    bytes.states += 8;
  } else if (name != "sgd") {
    return std::nullopt;
  }
  return bytes;
}

Bytes PersistentBytes::all() const {
  return checked_add(parameters, checked_add(gradients, states));
}

std::int64_t padded_elements(std::int64_t elements, std::int32_t ranks) {
  const std::int64_t over = elements % ranks;
  return over == 0 ? elements : checked_add(elements, ranks - over);
}

PersistentBytes persistent_bytes(std::span<const std::int64_t> units,
                                 const OptimiserBytes& optimiser, ZeroStage stage,
                                 std::int32_t ranks) {
  PersistentBytes bytes;
  const auto add = [&](Bytes& sum, std::int64_t elements, Bytes each, bool divided) {
    const std::int64_t whole =
        stage == ZeroStage::kNone ? elements : padded_elements(elements, ranks);
    sum = checked_add(sum, checked_mul(divided ? whole / ranks : whole, each));
  };
  for (const std::int64_t unit : units) {
    add(bytes.parameters, unit, optimiser.parameter, stage >= ZeroStage::kParameters);
    add(bytes.gradients, unit, optimiser.gradient, stage >= ZeroStage::kGradients);
    add(bytes.states, unit, optimiser.states, stage >= ZeroStage::kStates);
  }
  return bytes;
}

}  // namespace espalier
