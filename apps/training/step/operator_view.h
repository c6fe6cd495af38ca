#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "espalier/model/operator_graph.h"
#include "training/step/recipe.h"

namespace espalier::training {

/// An operator of a training graph as recipes read it. Of a gradient operator TGrad the
/// forward operator's inputs and outputs are found among its own.
class OperatorView {
 public:
  OperatorView(const OperatorGraph& graph, OperatorId id);

  [[nodiscard]] const Operator& op() const { return op_; }
  [[nodiscard]] bool is_gradient() const { return gradients_ > 0; }

  [[nodiscard]] bool has_input(std::size_t i) const { return op_.input(i).has_value(); }
  [[nodiscard]] bool has_output(std::size_t i) const { return op_.output(i).has_value(); }
  /// @throws InvalidInput where it is left out
  [[nodiscard]] const Tensor& in(std::size_t i) const;
  [[nodiscard]] const Tensor& out(std::size_t i) const;

  // Of gradient operators: where its inputs stand.
  [[nodiscard]] std::size_t g(std::size_t j = 0) const { return j; }
  [[nodiscard]] std::size_t x(std::size_t i) const { return gradients_ + i; }
  [[nodiscard]] std::size_t y(std::size_t j) const { return gradients_ + inputs_ + j; }
  [[nodiscard]] std::size_t gradients() const { return gradients_; }
  [[nodiscard]] std::size_t forward_inputs() const { return inputs_; }

  /// The forward operator's first output's, or of a gradient operator its gradient's.
  [[nodiscard]] const Shape& result_shape() const;
  /// The forward operator's input i: its own, or of the gradient that is written.
  [[nodiscard]] const Shape& argument_shape(std::size_t i) const;
  /// Forward input i, wherever it stands.
  [[nodiscard]] std::size_t argument(std::size_t i) const {
    return is_gradient() ? x(i) : i;
  }

  /// The elements of forward input i, which must be a constant of whole numbers.
  [[nodiscard]] std::vector<std::int64_t> whole_numbers(std::size_t i) const;
  /// The one number of forward input i, a constant; another where it is left out.
  [[nodiscard]] double number(std::size_t i, double otherwise) const;
  /// A list that older operators have as an attribute, newer ones as an input; empty
  /// where neither is given.
  [[nodiscard]] std::vector<std::int64_t> list(std::string_view attribute,
                                               std::size_t argument) const;
  /// Before operator set 13 it is 1, and means all axes from there on.
  [[nodiscard]] std::int64_t default_softmax_axis() const {
    return graph_.operator_set() < 13 ? 1 : -1;
  }
  /// An axis from the end counted from the front. @throws InvalidInput outside the rank
  [[nodiscard]] std::int64_t axis(std::int64_t given, std::size_t rank) const;

  /// The input in whose bytes output i is written; nothing: none.
  [[nodiscard]] std::optional<std::size_t> overwritten(std::size_t i) const;

  /// @throws InvalidInput "operator 'c1' (Conv): message"
  [[noreturn]] void refuse(const std::string& message) const;

 private:
  const OperatorGraph& graph_;
  const Operator& op_;
  std::size_t gradients_ = 0, inputs_ = 0;
};

// One for each family; nothing: the type is of none of these.
[[nodiscard]] std::optional<Recipe> linear_recipe(const OperatorView& view);
[[nodiscard]] std::optional<Recipe> elementwise_recipe(const OperatorView& view);
[[nodiscard]] std::optional<Recipe> broadcast_recipe(const OperatorView& view);
[[nodiscard]] std::optional<Recipe> normalization_recipe(const OperatorView& view);
[[nodiscard]] std::optional<Recipe> pooling_recipe(const OperatorView& view);
[[nodiscard]] std::optional<Recipe> movement_recipe(const OperatorView& view);
[[nodiscard]] std::optional<Recipe> training_recipe(const OperatorView& view,
                                                    const RecipeOptions& options);

/// Whether a type works on one element at a time, or along one axis: its result has the
/// extents of its first input.
[[nodiscard]] bool is_elementwise(std::string_view type);

/// The window of a Conv or a pooling whose kernel has these extents.
[[nodiscard]] Window window_of(const OperatorView& view, const Shape& kernel,
                               const Shape& x, const Shape& y);

}  // namespace espalier::training
