#pragma once

#include <optional>
#include <vector>

#include "training/step/operator_view.h"

namespace espalier::training {

/// Checks that all that a forward operator reads and writes has the shapes that its type
/// and its attributes ask for, whatever the model declares, and at least one element.
/// Gradients have the shapes of what was checked. Types that training does not know pass.
/// @throws InvalidInput naming the operator, the tensor, its shape and the one that it
///         would have
void check_shapes(const OperatorView& view);

// The shape of the first result by the rules of a family, whose other operands are
// checked on the way; nothing: the type is of none of these.
[[nodiscard]] std::optional<Shape> alike_result(const OperatorView& view);
[[nodiscard]] std::optional<Shape> normalization_result(const OperatorView& view);
[[nodiscard]] std::optional<Shape> product_result(const OperatorView& view);
[[nodiscard]] std::optional<Shape> window_result(const OperatorView& view);
[[nodiscard]] std::optional<Shape> movement_result(const OperatorView& view);
[[nodiscard]] std::optional<Shape> reshape_result(const OperatorView& view);

/// @param with  what asks for the shape
/// @throws InvalidInput where the tensor has another shape
void expect_shape(const OperatorView& view, const Tensor& tensor, const Shape& shape,
                  const Tensor& with);
/// What the shapes of the first so many inputs are broadcast to.
[[nodiscard]] Shape broadcast_shape(const OperatorView& view, std::size_t inputs);
/// Axes from the front, each once, of as many as `rank`.
[[nodiscard]] std::vector<std::size_t> distinct_axes(const OperatorView& view,
                                                     const Shape& given,
                                                     std::size_t rank);
/// The extents of a Split's results along its axis, whose own is `whole`.
[[nodiscard]] Shape split_extents(const OperatorView& view, std::int64_t whole);
/// Where a Slice begins along each axis of x, its steps, and how many it takes.
struct SliceExtents {
  Shape starts, steps, extents;
};
[[nodiscard]] SliceExtents slice_extents(const OperatorView& view, const Shape& x);
/// The axes over which a ReduceSum or ReduceMean of x sums.
[[nodiscard]] std::vector<std::size_t> reduced_axes(const OperatorView& view,
                                                    const Shape& x);
/// For each normalised axis of a LayerNormalization, from its first on, the extent.
[[nodiscard]] Shape normalised_shape(const OperatorView& view);

}  // namespace espalier::training
