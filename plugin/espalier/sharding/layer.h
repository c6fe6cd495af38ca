#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "espalier/model/units.h"

namespace espalier {

/// A tensor of one micro-batch inside a layer, as one process holds it.
struct LayerTensor {
  std::string name;
  Bytes size = 0;
};

/// The first tensors of every layer: what it takes from its neighbours and gives them.
enum LayerState : std::int32_t { kInput, kOutput, kOutputGradient, kInputGradient };

/// An operator of a layer as one process runs it for one micro-batch.
struct LayerOperator {
  std::string name;
  std::vector<std::int32_t> reads, writes;  ///< tensors of the layer
  Flops flops = 0;
  Bytes parameter_bytes = 0;  ///< of weights read and of their gradients read and written
  Bytes workspace = 0;
  Bytes reduced = 0;  ///< summed over the tensor group when it has run
};

/// A part of a network between two states of it, forward and backward, as one process of
/// a tensor group runs it for one micro-batch. Inside a pass a tensor lives from the
/// operator that writes it to its last reader; what a forward operator writes and a
/// backward one reads is kept in between, or recomputed.
struct Layer {
  std::string name;
  std::int64_t parameters = 0;  ///< elements of this process
  Bytes constants = 0;          ///< read, never changed: all the time
  std::vector<LayerTensor> tensors;
  std::vector<LayerOperator> forward, backward;
};

/// A network as a chain of layers, of which many are alike.
struct LayeredModel {
  std::vector<Layer> kinds;
  std::vector<std::int32_t> layers;  ///< the kind of each
  /// Parameters that two layers share (a tied embedding): counted in both, held once
  /// where both lie in one process. Of several layers each is tied to the next.
  struct Tie {
    std::int64_t first = 0, second = 0;
    std::int64_t parameters = 0;
  };
  std::vector<Tie> ties;

  [[nodiscard]] std::int64_t size() const {
    return static_cast<std::int64_t>(layers.size());
  }
  [[nodiscard]] std::int32_t kind_of(std::int64_t layer) const {
    return layers[static_cast<std::size_t>(layer)];
  }
  [[nodiscard]] const Layer& layer(std::int64_t i) const {
    return kinds[static_cast<std::size_t>(kind_of(i))];
  }
};

/// Elements, those once that layers share.
[[nodiscard]] std::int64_t parameters_of(const LayeredModel& model);

/// Tensors are numbers of the layer, states come first, nothing is read before it is
/// written, and neighbours agree on the size of the state between them.
/// @throws InvalidInput naming layer, operator and tensor
void check(const LayeredModel& model);

}  // namespace espalier
