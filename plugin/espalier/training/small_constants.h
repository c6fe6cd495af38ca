#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "espalier/model/operator_graph.h"

namespace espalier {

inline constexpr std::int64_t kMostSmallElements = 1 << 12;

/// A tensor of integers that says something of shapes.
struct SmallConstant {
  Shape shape;
  std::vector<std::int64_t> elements;
};

/// What an operator writes, of inputs with at most one axis: Gather, Concat, Slice, Cast,
/// Add, Sub, Mul, Div. Nothing for all others.
[[nodiscard]] std::optional<std::vector<std::int64_t>> evaluate_small(
    const Operator& op, std::span<const SmallConstant> inputs);

/// The integers as elements of a type; nothing when it is no integer.
[[nodiscard]] std::optional<TensorValue> value_of_integers(
    std::span<const std::int64_t> elements, ElementType type);

}  // namespace espalier
