#include "training/step/tensor_formats.h"

#include <algorithm>
#include <numeric>

#include "training/step/messages.h"

namespace espalier::training {
namespace {

// How an operator takes its tensors of four axes.
enum class Manners : std::int8_t {
  kEach,   // each in any format
  kAlike,  // all in one format
  kPlain   // plain
};

Manners manners_of(const RecipeStep& step) {
  switch (step.spec.kind) {
    case OperatorKind::kConvolution:
    case OperatorKind::kConvolutionBackwardData:
    case OperatorKind::kConvolutionBackwardWeights:
    case OperatorKind::kCopy:
      return Manners::kEach;
    case OperatorKind::kUnary:
    case OperatorKind::kUnaryBackward:
    case OperatorKind::kSum:
    case OperatorKind::kBatchNorm:
    case OperatorKind::kBatchNormBackward:
    case OperatorKind::kMaxPool:
    case OperatorKind::kMaxPoolBackward:
    case OperatorKind::kAveragePool:
    case OperatorKind::kAveragePoolBackward:
    case OperatorKind::kDropoutBackward:
    case OperatorKind::kBinary:
      return Manners::kAlike;
    case OperatorKind::kLocalNorm:  // even windows are none of oneDNN's
    case OperatorKind::kLocalNormBackward:
      return step.spec.size % 2 == 0 ? Manners::kPlain : Manners::kAlike;
    case OperatorKind::kDropout:  // places in a whole tensor are those of the plain
                                  // format
      return step.spec.places.run > 0 ? Manners::kPlain : Manners::kAlike;
    case OperatorKind::kConcat:
    case OperatorKind::kSplit:
      return step.spec.axis == 1 ? Manners::kAlike : Manners::kPlain;
    default:
      return Manners::kPlain;
  }
}

bool is_point(const Shape& shape) {
  return shape.size() == 4 && shape[2] == 1 && shape[3] == 1;
}

// Tensors that must have one format: sets, each with the least of its members' wishes.
class Alike {
 public:
  explicit Alike(const OperatorGraph& graph) : set_(graph.tensors().size()) {
    std::iota(set_.begin(), set_.end(), std::size_t{0});
    for (const Tensor& tensor : graph.tensors())
      format_.push_back(tensor.type == ElementType::kFloat32 ||
                                tensor.type == ElementType::kBool ||
                                tensor.type == ElementType::kUint8
                            ? fastest_format(tensor.shape)
                            : TensorFormat::kPlain);
  }
  std::size_t find(std::size_t tensor) {
    while (set_[tensor] != tensor) tensor = set_[tensor] = set_[set_[tensor]];
    return tensor;
  }
  void join(std::size_t a, std::size_t b) {
    a = find(a);
    b = find(b);
    if (a == b) return;
    set_[b] = a;
    format_[a] = std::min(format_[a], format_[b]);
  }
  void make_plain(std::size_t tensor) { format_[find(tensor)] = TensorFormat::kPlain; }
  TensorFormat format(std::size_t tensor) { return format_[find(tensor)]; }

 private:
  std::vector<std::size_t> set_;
  std::vector<TensorFormat> format_;
};

// The shape of the first result of a step.
const Shape& result_shape(const OperatorGraph& graph, const Operator& op,
                          const Recipe& recipe, const RecipeStep& step) {
  const Ingredient& result = step.outputs.at(0).value();
  if (result.of == Ingredient::Of::kTemporary) return recipe.temporaries[result.number];
  return graph.tensor(op.outputs.at(result.number).value()).shape;
}

void add_uses(const OperatorGraph& graph, const Operator& op, const Recipe& recipe,
              const RecipeStep& step, Alike& alike) {
  const Manners manners = manners_of(step);
  std::optional<std::size_t> first;
  const auto use = [&](const std::optional<Ingredient>& ingredient) {
    if (!ingredient || ingredient->of == Ingredient::Of::kTemporary) return;
    const auto& list = ingredient->of == Ingredient::Of::kInput ? op.inputs : op.outputs;
    const std::size_t tensor = index(*list.at(ingredient->number));
    if (manners == Manners::kPlain || ingredient->shape) alike.make_plain(tensor);
    // What is broadcast, statistics and the like are no partners.
    const Shape& shape = graph.tensors()[tensor].shape;
    if (manners != Manners::kAlike || shape.size() != 4) return;
    if (step.spec.kind == OperatorKind::kBinary && is_point(shape) &&
        shape != result_shape(graph, op, recipe, step))
      return;
    if (first) alike.join(*first, tensor);
    first = tensor;
  };
  std::ranges::for_each(step.inputs, use);
  std::ranges::for_each(step.outputs, use);
}

// What shares bytes shares their format: other extents are possible where the format is
// plain, or one position makes all formats the same.
void share_bytes(const OperatorGraph& graph, Alike& alike) {
  for (std::size_t i = 0; i < graph.tensors().size(); ++i) {
    const Tensor& tensor = graph.tensors()[i];
    if (tensor.sharing == Sharing::kOwn) continue;
    const std::size_t with = index(tensor.shared_with);
    const Shape& other = graph.tensors()[with].shape;
    if (tensor.shape == other) {
      alike.join(i, with);
    } else if (!is_point(tensor.shape) && !is_point(other)) {
      alike.make_plain(i);
      alike.make_plain(with);
    }
  }
}

}  // namespace

std::vector<TensorFormat> choose_formats(const OperatorGraph& graph,
                                         const std::vector<Recipe>& recipes) {
  Alike alike(graph);
  for (std::size_t i = 0; i < recipes.size(); ++i)
    for (const RecipeStep& step : recipes[i].steps)
      add_uses(graph, graph.operators()[i], recipes[i], step, alike);
  share_bytes(graph, alike);
  // The world outside knows the plain format only, and so do other processes.
  for (const Operator& op : graph.operators())
    if (message_of(op))
      for (const auto* list : {&op.inputs, &op.outputs})
        for (const auto& id : *list)
          if (id) alike.make_plain(index(*id));
  for (std::size_t i = 0; i < graph.tensors().size(); ++i)
    if (graph.tensors()[i].role != TensorRole::kComputed) alike.make_plain(i);
  std::vector<TensorFormat> formats;
  for (std::size_t i = 0; i < graph.tensors().size(); ++i) {
    const TensorFormat format = alike.format(i);
    formats.push_back(graph.tensors()[i].shape.size() == 4 ? format
                                                           : TensorFormat::kPlain);
  }
  return formats;
}

}  // namespace espalier::training
