#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "espalier/model/operator_graph.h"
#include "training/operators/element_runs.h"

namespace espalier::training {

/// What a tensor that is known from the start holds before the first step: the value that
/// the model gives it; of a parameter without one, or with one element repeated (a model
/// without its weights), by what reads it: weights are normally distributed with the
/// deviation sqrt(2 / inputs of a result), tables with 0.02, scales 1, the rest 0. The
/// same for every order and machine: numbers are drawn for the tensor's name and the
/// seed.
/// @param bytes  as many as the tensor has, or those of its elements from `first` on
/// @param runs   of the tensor's elements only these; `first` counts them
void fill_initial_value(const OperatorGraph& graph, TensorId id, std::uint64_t seed,
                        std::span<std::byte> bytes, std::int64_t first = 0,
                        const ElementRuns& runs = {});

}  // namespace espalier::training
