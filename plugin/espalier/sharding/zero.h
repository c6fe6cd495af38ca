#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "espalier/model/units.h"

namespace espalier {

/// What the ranks of data parallelism divide among them [Rajbhandari20]: nothing; the
/// optimiser's states; the gradients as well; the parameters as well.
enum class ZeroStage : std::uint8_t { kNone, kStates, kGradients, kParameters };

/// Bytes that training keeps for one parameter.
struct OptimiserBytes {
  Bytes parameter = 2, gradient = 2, states = 12;
  [[nodiscard]] Bytes all() const { return parameter + gradient + states; }
};

/// By name: "adam", "momentum", "sgd"; mixed (16-bit parameters and gradients, and a
/// 32-bit copy among the states) or in 32 bits. Bytes a parameter:
///              mixed            32 bits
///   adam       2 + 2 + 12 = 16  4 + 4 + 8 = 16
///   momentum   2 + 2 +  8 = 12  4 + 4 + 4 = 12
///   sgd        2 + 2 +  4 =  8  4 + 4     =  8
/// Nothing for another name.
[[nodiscard]] std::optional<OptimiserBytes> optimiser_bytes(std::string_view name,
                                                            bool mixed);

/// What one rank keeps from step to step.
struct PersistentBytes {
  Bytes parameters = 0, gradients = 0, states = 0;
  [[nodiscard]] Bytes all() const;
};

/// Each unit (a layer) is one flat piece, padded to a multiple of the ranks where it is
/// divided, so that every rank has the same:
///   stage 0    parameter + gradient + states          of every element
///   stage 1    parameter + gradient, states / n       padded
///   stage 2    parameter, (gradient + states) / n
///   stage 3    (parameter + gradient + states) / n
/// where n divides every unit these are [Rajbhandari20]'s 16, 4 + 12/n, 2 + 14/n, 16/n
/// bytes a parameter of mixed Adam.
/// @param units  parameters of each
/// @throws OverflowError
/// @par Test  ZeroStages.KeepWhatTheFormulasSay
[[nodiscard]] PersistentBytes persistent_bytes(std::span<const std::int64_t> units,
                                               const OptimiserBytes& optimiser,
                                               ZeroStage stage, std::int32_t ranks);

/// Elements of a unit with its padding: the next multiple of the ranks.
[[nodiscard]] std::int64_t padded_elements(std::int64_t elements, std::int32_t ranks);

}  // namespace espalier
