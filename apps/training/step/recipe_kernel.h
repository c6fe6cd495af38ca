#pragma once

#include <memory>
#include <vector>

#include "espalier/training/training_graph.h"
#include "training/operators/kernel.h"
#include "training/step/recipe.h"

namespace espalier::training {

/// Makes the kernel of one operator: make_dnnl_kernel, make_reference_kernel.
using MakeKernel = std::unique_ptr<Kernel> (*)(const OperatorSpec&, const KernelTensors&);

/// The kernels of a graph, by operator; null: nothing is to be done.
struct StepKernels {
  std::vector<std::unique_ptr<Kernel>> by_operator;
  std::vector<TensorFormat> formats;  ///< by tensor
};

/// @param make  for single precision; for another type of `real` its own
/// @param fast  tensors may have the formats that kernels like best; else all are plain
/// @throws InvalidInput naming the operator, and the tensors where they are at fault
[[nodiscard]] StepKernels make_kernels(const OperatorGraph& graph,
                                       const RecipeOptions& options, MakeKernel make,
                                       bool fast);

/// The graph of a step with each operator's workspace as large as its kernel wants it;
/// the loss and what is known from the start stay in memory for the next step.
[[nodiscard]] OperatorGraph with_workspaces(const TrainingGraph& training,
                                            const StepKernels& kernels);

}  // namespace espalier::training
