#include "training/step/operator_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/model/error.h"
#include "training/step/operator_shapes.h"

namespace espalier::training {

OperatorView::OperatorView(const OperatorGraph& graph, OperatorId id)
    : graph_(graph), op_(graph.op(id)) {
  if (!op_.type.ends_with("Grad")) return;
  gradients_ = static_cast<std::size_t>(op_.integer("gradients", 1));
  inputs_ = static_cast<std::size_t>(op_.integer("inputs", 1));
}

void OperatorView::refuse(const std::string& message) const {
  throw InvalidInput(fmt::format("{}: {}", label(op_), message));
}

const Tensor& OperatorView::in(std::size_t i) const {
  if (!has_input(i)) refuse(fmt::format("input {} is missing", i + 1));
  return graph_.tensor(*op_.input(i));
}

const Tensor& OperatorView::out(std::size_t i) const {
  if (!has_output(i)) refuse(fmt::format("output {} is missing", i + 1));
  return graph_.tensor(*op_.output(i));
}

const Shape& OperatorView::result_shape() const {
  return is_gradient() ? in(0).shape : out(0).shape;
}

const Shape& OperatorView::argument_shape(std::size_t i) const {
  if (has_input(argument(i))) return in(argument(i)).shape;
  return out(i).shape;
}

std::vector<std::int64_t> OperatorView::whole_numbers(std::size_t i) const {
  const Tensor& tensor = in(argument(i));
  if (tensor.value) {
    if (const auto elements = integers_of(*tensor.value, tensor.type, tensor.shape))
      return *elements;
  }
  refuse(fmt::format("{} is not a constant of whole numbers", label(tensor)));
}

double OperatorView::number(std::size_t i, double otherwise) const {
  if (!has_input(argument(i))) return otherwise;
  const Tensor& tensor = in(argument(i));
  if (tensor.value) {
    if (const auto elements = floats_of(*tensor.value, tensor.type, tensor.shape))
      if (elements->size() == 1) return elements->front();
    if (const auto elements = integers_of(*tensor.value, tensor.type, tensor.shape))
      if (elements->size() == 1) return static_cast<double>(elements->front());
  }
  refuse(fmt::format("{} is not a constant number", label(tensor)));
}

std::vector<std::int64_t> OperatorView::list(std::string_view attribute,
                                             std::size_t place) const {
  if (op_.attributes.contains(attribute)) return op_.integers(attribute);
  if (!has_input(argument(place)) || (is_gradient() && place >= inputs_)) return {};
  return whole_numbers(place);
}

std::int64_t OperatorView::axis(std::int64_t given, std::size_t rank) const {
  const auto all = static_cast<std::int64_t>(rank);
  const std::int64_t axis = given < 0 ? given + all : given;
  if (axis < 0 || axis > all) refuse(fmt::format("axis {} of {} axes", given, rank));
  return axis;
}

std::optional<std::size_t> OperatorView::overwritten(std::size_t i) const {
  const Tensor& written = out(i);
  if (written.sharing == Sharing::kOwn) return std::nullopt;
  const TensorId bytes = graph_.storage(written.shared_with);
  for (std::size_t input = 0; input < op_.inputs.size(); ++input)
    if (op_.inputs[input] && graph_.storage(*op_.inputs[input]) == bytes) return input;
  return std::nullopt;
}

Recipe recipe_of(const OperatorGraph& graph, OperatorId id,
                 const RecipeOptions& options) {
  const OperatorView view(graph, id);
  check_shapes(view);
  for (const auto& output : view.op().outputs)  // a view: nothing is to be done
    if (output && graph.tensor(*output).sharing == Sharing::kView) return {};
  if (auto recipe = training_recipe(view, options)) return *std::move(recipe);
  for (const auto family : {linear_recipe, elementwise_recipe, broadcast_recipe,
                            normalization_recipe, pooling_recipe, movement_recipe})
    if (auto recipe = family(view)) return *std::move(recipe);
  std::string tensors;
  for (const auto& output : view.op().outputs)
    if (output) tensors += (tensors.empty() ? "" : ", ") + label(graph.tensor(*output));
  view.refuse(fmt::format("there is no kernel for this type; it writes {}",
                          tensors.empty() ? "nothing" : tensors));
}

}  // namespace espalier::training
