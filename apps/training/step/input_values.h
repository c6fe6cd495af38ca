#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "espalier/training/training_graph.h"

namespace espalier::training {

/// Random values for an input of a training step: labels are classes, indices rows of the
/// table that they are read with, the rest is normally distributed with deviation 1.
/// @throws InvalidInput naming an input that is none of these
void fill_input(const TrainingGraph& training, TensorId id, std::uint64_t seed,
                std::span<std::byte> bytes);

}  // namespace espalier::training
