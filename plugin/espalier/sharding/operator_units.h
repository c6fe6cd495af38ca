#pragma once

#include <cstdint>

#include "espalier/model/operator_graph.h"

namespace espalier {

/// By how many parts an operator can be computed apart, each of the same part of its
/// inputs; 1: not at all.
struct OperatorUnits {
  std::int64_t samples = 1, features = 1;
};

/// Where the features of a tensor are: the last extent of three, else the second.
[[nodiscard]] std::size_t feature_axis(const Shape& shape);
[[nodiscard]] std::int64_t features(const Shape& shape);
[[nodiscard]] std::int64_t first_extent(const Shape& shape);

/// Whether it gives what it reads in another shape.
[[nodiscard]] bool is_view(const Operator& op);

/// Of an operator that is no product with a weight of rows and columns: of its first
/// result, by its type, its attributes and the shape of its first input. What is not
/// known cannot be computed apart.
[[nodiscard]] OperatorUnits operator_units(const OperatorGraph& model,
                                           const Operator& op);

}  // namespace espalier
