#include "training/step/recipe_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/model/error.h"
#include "training/step/tensor_formats.h"

namespace espalier::training {
namespace {

constexpr Bytes kAlignment = 64;

Bytes aligned(Bytes bytes) {
  return checked_add(bytes, kAlignment - 1) / kAlignment * kAlignment;
}

// The kernels of a recipe, one after the other. Its temporaries lie first in its scratch
// memory, then what the kernel that runs wants.
class RecipeKernel : public Kernel {
 public:
  RecipeKernel(Recipe recipe, std::vector<std::unique_ptr<Kernel>> kernels,
               ElementType real)
      : recipe_(std::move(recipe)), kernels_(std::move(kernels)) {
    for (const Shape& shape : recipe_.temporaries) {
      places_.push_back(kept_);
      kept_ = checked_add(kept_, aligned(tensor_bytes(real, shape)));
    }
    for (const auto& kernel : kernels_) most_ = std::max(most_, kernel->scratch_bytes());
    for (const RecipeStep& step : recipe_.steps) {
      inputs_.emplace_back(step.inputs.size());
      outputs_.emplace_back(step.outputs.size());
    }
  }

  [[nodiscard]] Bytes scratch_bytes() const override { return checked_add(kept_, most_); }

  void run(const KernelCall& call) override {
    KernelCall inner = call;
    inner.scratch = call.scratch + kept_;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      place(recipe_.steps[i].inputs, call, inputs_[i]);
      place(recipe_.steps[i].outputs, call, outputs_[i]);
      inner.inputs = inputs_[i];
      inner.outputs = outputs_[i];
      kernels_[i]->run(inner);
    }
  }

 private:
  void place(const std::vector<std::optional<Ingredient>>& ingredients,
             const KernelCall& call, std::vector<std::byte*>& places) const {
    for (std::size_t i = 0; i < ingredients.size(); ++i) {
      if (!ingredients[i]) continue;
      const std::size_t number = ingredients[i]->number;
      switch (ingredients[i]->of) {
        case Ingredient::Of::kInput:
          places[i] = call.inputs[number] + ingredients[i]->first;
          break;
        case Ingredient::Of::kOutput:
          places[i] = call.outputs[number] + ingredients[i]->first;
          break;
        case Ingredient::Of::kTemporary:
          places[i] = call.scratch + places_[number];
          break;
      }
    }
  }

  Recipe recipe_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<Bytes> places_;  // of temporaries
  Bytes kept_ = 0, most_ = 0;
  std::vector<std::vector<std::byte*>> inputs_, outputs_;  // of the calls, by step
};

class Maker {
 public:
  Maker(const OperatorGraph& graph, MakeKernel make, bool fast)
      : graph_(graph), make_(make), real_(ElementType::kFloat32) {
    if (!fast) formats_.assign(graph.tensors().size(), TensorFormat::kPlain);
  }
  void use(std::vector<TensorFormat> formats) { formats_ = std::move(formats); }
  void real(ElementType type) { real_ = type; }

  [[nodiscard]] std::unique_ptr<Kernel> kernel(const Operator& op,
                                               const Recipe& recipe) const {
    if (recipe.steps.empty()) return nullptr;
    std::vector<std::unique_ptr<Kernel>> kernels;
    for (const RecipeStep& step : recipe.steps) {
      KernelTensors tensors;
      for (const auto& ingredient : step.inputs)
        tensors.inputs.push_back(shape_of(op, recipe, ingredient));
      for (const auto& ingredient : step.outputs)
        tensors.outputs.push_back(shape_of(op, recipe, ingredient));
      kernels.push_back(make_(step.spec, tensors));
    }
    return std::make_unique<RecipeKernel>(recipe, std::move(kernels), real_);
  }

 private:
  [[nodiscard]] std::optional<TensorShape> shape_of(
      const Operator& op, const Recipe& recipe,
      const std::optional<Ingredient>& ingredient) const {
    if (!ingredient) return std::nullopt;
    TensorShape shape{.type = real_, .dims = {}};
    if (ingredient->of == Ingredient::Of::kTemporary) {
      shape.dims = recipe.temporaries.at(ingredient->number);
    } else {
      const auto& list =
          ingredient->of == Ingredient::Of::kInput ? op.inputs : op.outputs;
      const TensorId id = *list.at(ingredient->number);
      const Tensor& tensor = graph_.tensor(id);
      shape.dims = tensor.shape;
      if (tensor.type != ElementType::kFloat32) shape.type = tensor.type;
      if (tensor.type == ElementType::kBool) shape.type = ElementType::kUint8;
      if (!ingredient->shape) shape.format = formats_[index(id)];
    }
    if (ingredient->shape) shape.dims = *ingredient->shape;
    return shape;
  }

  const OperatorGraph& graph_;
  MakeKernel make_;
  ElementType real_;
  std::vector<TensorFormat> formats_;
};

// "tensor 'x' (8x3), tensor 'ids' (8) of type int64": real ones have none.
std::string tensors_of(const OperatorGraph& graph, const Operator& op) {
  std::string text;
  for (const auto* list : {&op.inputs, &op.outputs})
    for (const auto& id : *list) {
      if (!id) continue;
      const Tensor& tensor = graph.tensor(*id);
      text += (text.empty() ? "" : ", ") + label(tensor);
      if (tensor.type != ElementType::kFloat32)
        text += fmt::format(" of type {}", name(tensor.type));
    }
  return text;
}

}  // namespace

StepKernels make_kernels(const OperatorGraph& graph, const RecipeOptions& options,
                         MakeKernel make, bool fast) {
  std::vector<Recipe> recipes;
  for (std::size_t i = 0; i < graph.size(); ++i)
    recipes.push_back(recipe_of(graph, operator_id(i), options));
  StepKernels kernels;
  if (fast)
    kernels.formats = choose_formats(graph, recipes);
  else
    kernels.formats.assign(graph.tensors().size(), TensorFormat::kPlain);
  Maker maker(graph, make, fast);
  maker.use(kernels.formats);
  if (!fast) maker.real(ElementType::kFloat64);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const Operator& op = graph.operators()[i];
    try {
      kernels.by_operator.push_back(maker.kernel(op, recipes[i]));
    } catch (const InvalidInput& error) {
      throw InvalidInput(
          fmt::format("{}: {} ({})", label(op), error.what(), tensors_of(graph, op)));
    }
  }
  return kernels;
}

OperatorGraph with_workspaces(const TrainingGraph& training, const StepKernels& kernels) {
  const OperatorGraph& graph = training.graph;
  OperatorGraphBuilder builder(graph.operator_set());
  for (std::size_t i = 0; i < graph.tensors().size(); ++i) {
    const Tensor& tensor = graph.tensors()[i];
    const TensorId id = builder.add_tensor(tensor, tensor.bytes);
    const bool given = tensor.role == TensorRole::kConstant ||
                       tensor.role == TensorRole::kParameter ||
                       tensor.role == TensorRole::kState;
    if (given || id == training.loss) builder.keep(id);
  }
  for (std::size_t i = 0; i < graph.size(); ++i) {
    Operator op = graph.operators()[i];
    if (const auto& kernel = kernels.by_operator[i])
      op.workspace = aligned(kernel->scratch_bytes());
    builder.add_operator(std::move(op));
  }
  return std::move(builder).build();
}

}  // namespace espalier::training
