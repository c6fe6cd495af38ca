#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "espalier/training/training_graph.h"
#include "training/operators/operator_spec.h"

namespace espalier::training {

/// A tensor that a kernel of a recipe takes: an input or an output of the operator, or a
/// temporary of the recipe.
struct Ingredient {
  enum class Of : std::int8_t { kInput, kOutput, kTemporary };
  Of of = Of::kInput;
  std::size_t number = 0;
  std::optional<Shape> shape = {};  ///< other extents to see it with; plain then
  Bytes first = 0;                  ///< where these begin
};
[[nodiscard]] inline Ingredient input(std::size_t i) {
  return {Ingredient::Of::kInput, i};
}
[[nodiscard]] inline Ingredient output(std::size_t i) {
  return {Ingredient::Of::kOutput, i};
}
[[nodiscard]] inline Ingredient temporary(std::size_t i) {
  return {Ingredient::Of::kTemporary, i};
}

/// A kernel and what it takes, in the order of OperatorKind; nothing: left out.
struct RecipeStep {
  OperatorSpec spec;
  std::vector<std::optional<Ingredient>> inputs, outputs;
};

/// How kernels compute an operator of a graph, one after the other. None: there is
/// nothing to do (a view, a barrier).
struct Recipe {
  std::vector<RecipeStep> steps;
  std::vector<Shape> temporaries = {};  ///< of single precision
};

/// What training decides beside the graph.
struct RecipeOptions {
  UpdateRule update = {};
};

/// What a training step of a model is made of so that its kernels can run it: nothing is
/// kept that they do not read, and indices of poolings have the elements that they write.
[[nodiscard]] TrainingOptions step_options(const OperatorGraph& model,
                                           Optimiser optimiser);
/// @throws as training_graph()
[[nodiscard]] inline TrainingGraph training_step(const OperatorGraph& model,
                                                 Optimiser optimiser) {
  return training_graph(model, step_options(model, optimiser));
}

/// The recipe of an operator of a training graph (espalier/training/training_graph.h).
/// @throws InvalidInput naming operator and tensor for an operator that is not known, and
///         for what is not known of one
[[nodiscard]] Recipe recipe_of(const OperatorGraph& graph, OperatorId id,
                               const RecipeOptions& options = {});

}  // namespace espalier::training
