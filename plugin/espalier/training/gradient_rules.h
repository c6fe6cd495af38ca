#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "espalier/model/operator_graph.h"

namespace espalier {

/// What an operator keeps for the way back beside its inputs and outputs.
enum class Kept : std::uint8_t {
  kNothing,
  kChannelMoments,  ///< two values a channel
  kRowMoments,      ///< two values a normalised row
  kIndices,         ///< one a result
  kMask,            ///< 1 byte an element
  kScale,           ///< as large as the input
  kRowSums,         ///< one value a row of the result
};

/// Of positions, a bit each; operators that are trained have at most kMostInputs.
using PositionMask = std::uint64_t;
inline constexpr std::size_t kMostInputs = 64;

[[nodiscard]] constexpr bool has(PositionMask mask, std::size_t position) {
  return position < kMostInputs && (mask >> position & 1U) != 0;
}

/// What is known of the gradient of an operator type: the table of training_graph.h.
struct GradientRule {
  /// Bits: forward inputs that have a gradient.
  PositionMask gives = 1;
  /// Bits: forward inputs that every gradient reads; outputs, the kept ones included.
  PositionMask reads_inputs = 0, reads_outputs = 0;
  /// The gradient of input i reads the other inputs instead.
  bool reads_others = false;
  /// The gradient of an input may be the one that comes in, unless bit i is 0.
  PositionMask passes = 0;
  bool view = false;          ///< it is the one that comes in, in another shape
  bool many_outputs = false;  ///< each output carries a gradient
  /// The way back, or the way forth, may write over what it reads first: its gradient,
  /// and one of the inputs.
  bool grad_in_place = false, in_place = false;
  bool can_split = false;  ///< dx and dw are independent
  Kept keeps = Kept::kNothing;
};

/// The rule of a type of operator; nothing when its gradient is not known.
[[nodiscard]] std::optional<GradientRule> gradient_rule(std::string_view type);
/// The same of an operator: a LeakyRelu, Elu or Selu with a factor below 0 reads x,
/// because its result does not tell on which side x was.
[[nodiscard]] std::optional<GradientRule> gradient_rule(const Operator& op);

}  // namespace espalier
