#pragma once

#include "espalier/sharding/layer.h"

namespace espalier {

/// What of a layer stays between forward and backward.
struct LayerKeeping {
  bool recomputed = false;  ///< its input alone; the rest is computed again
  bool input_stays = true;  ///< the state before it, for it or for the layer before
  bool operator==(const LayerKeeping&) const = default;
};

/// Bytes of one micro-batch in a layer. In `…_peak` the layer's states of that pass and
/// what it keeps are counted, what other layers keep is not.
struct LayerMemory {
  Bytes kept = 0;           ///< from forward to backward, the state before it in it
  Bytes forward_peak = 0;   ///< while forward runs
  Bytes backward_peak = 0;  ///< while backward runs, what is recomputed in it
};

/// Whether a backward operator reads the state before the layer, or after it.
[[nodiscard]] bool needs_input(const Layer& layer);
[[nodiscard]] bool needs_output(const Layer& layer);

/// Forward operators that have to run again where only the input was kept: those whose
/// results a backward operator reads, and what these need.
[[nodiscard]] std::vector<std::int32_t> recomputed_operators(const Layer& layer);

/// By the lifetimes of tensors: written by an operator, freed after the last reader of
/// the pass, or kept. The state before the layer, where it stays, is freed after its
/// backward, and likewise the state after it.
/// @throws OverflowError
[[nodiscard]] LayerMemory layer_memory(const Layer& layer, const LayerKeeping& keeping);

}  // namespace espalier
