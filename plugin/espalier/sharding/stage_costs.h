#pragma once

#include <cstdint>
#include <vector>

#include "espalier/model/chain.h"
#include "espalier/sharding/collectives.h"
#include "espalier/sharding/layer.h"
#include "espalier/sharding/layer_memory.h"
#include "espalier/sharding/zero.h"

namespace espalier {

/// How the processes that run a model are arranged, and what they keep.
struct StageSetting {
  std::int32_t data = 1, pipeline = 1, tensor = 1;
  ZeroStage zero = ZeroStage::kNone;
  OptimiserBytes optimiser;
  Cluster cluster;
};

/// Consecutive layers of a model in one process, of which the first `recomputed` keep
/// their inputs alone.
struct StagePart {
  std::int64_t first = 0, last = 0;
  std::int64_t recomputed = 0;
  bool operator==(const StagePart&) const = default;
};

/// Bytes of one process.
struct StageMemory {
  PersistentBytes persistent;
  Bytes constants = 0;   ///< of its layers
  Bytes neighbours = 0;  ///< a buffer for what comes from and what goes to each neighbour
  Bytes kept = 0;        ///< of a micro-batch between its forward and its backward
  Bytes forward_peak = 0, backward_peak = 0;  ///< of the micro-batch that runs, kept
                                              ///< bytes and gathered parameters in them
  Bytes gathered = 0;  ///< parameters and gradients that are whole for a while, at most

  [[nodiscard]] Bytes fixed() const {
    return checked_add(persistent.all(), checked_add(constants, neighbours));
  }
  /// With so many micro-batches under way, one of which runs.
  [[nodiscard]] Bytes peak(std::int64_t under_way) const;
};

/// Time of one process.
struct StageTimes {
  Nanoseconds forward = 0, backward = 0;  ///< of a micro-batch, recomputation in it
  /// After its last backward: what of the reduction of gradients is left then, the
  /// update, the gathering of parameters for the next step.
  Nanoseconds reduce = 0, update = 0, gather = 0;
  [[nodiscard]] Nanoseconds end() const { return reduce + update + gather; }
};

/// What the layers of a model cost in one setting, once for all parts.
///
/// Memory. A part runs a micro-batch layer by layer, and what is alive follows from the
/// lifetimes in them (layer_memory.h). With ZeRO's stage 3 the parameters of a layer are
/// gathered while the layer before it runs, so those of two are whole at a time; with
/// stages 2 and 3 the gradients of a layer are whole while it and the layer after it (in
/// backward) run.
///
/// Time. An operator takes what its flops or what its bytes take, whichever is longer,
/// and then the all-reduce of its tensor group. Gathering and reducing among the ranks
/// goes on beside the layer that runs.
class StageCosts {
 public:
  /// @param model  of one process of a tensor group; outlives the costs
  StageCosts(const LayeredModel& model, const StageSetting& setting);

  [[nodiscard]] const LayeredModel& model() const { return model_; }
  [[nodiscard]] const StageSetting& setting() const { return setting_; }
  /// @par Cost  O(layers of the part)
  [[nodiscard]] StageMemory memory(const StagePart& part) const;
  [[nodiscard]] StageTimes times(const StagePart& part) const;
  /// Of the state between layers i - 1 and i, from one process to the next.
  [[nodiscard]] Nanoseconds transfer(std::int64_t layer) const;

  /// Of layer i alone: forward, backward and forward again.
  [[nodiscard]] Nanoseconds forward(std::int64_t i) const { return at(i).forward; }
  [[nodiscard]] Nanoseconds backward(std::int64_t i) const { return at(i).backward; }
  [[nodiscard]] Nanoseconds again(std::int64_t i) const { return at(i).again; }
  /// Kept by layer i from forward to backward, as if its input always stayed.
  [[nodiscard]] Bytes kept(std::int64_t i, bool recomputed) const;
  /// Parameters of the part's layers, those counted once that two of them share.
  [[nodiscard]] std::vector<std::int64_t> units(const StagePart& part) const;
  /// Parameters of layer i gathered, and gradients of it before they are divided.
  [[nodiscard]] Bytes gathered(std::int64_t i) const { return at(i).parameters; }
  [[nodiscard]] Bytes whole_gradients(std::int64_t i) const { return at(i).gradients; }
  /// The state before layer i is there until its backward.
  [[nodiscard]] bool input_stays(const StagePart& part, std::int64_t i) const;

 private:
  struct Kind {
    LayerMemory memory[2][2];  ///< by recomputed and by input_stays
    bool needs_input = false, needs_output = false, recomputes = false;
    Nanoseconds forward = 0, backward = 0, again = 0;
    Bytes parameters = 0, gradients = 0;  ///< whole for a while; 0: they always are
    Nanoseconds gather = 0, reduce = 0;   ///< among the ranks, in a pass
    Nanoseconds last_reduce = 0;          ///< among the ranks, at the end of a step
  };
  [[nodiscard]] const Kind& at(std::int64_t i) const {
    return kinds_[static_cast<std::size_t>(model_.kind_of(i))];
  }
  [[nodiscard]] Kind kind_of(const Layer& layer) const;
  [[nodiscard]] Seconds seconds(const Layer& layer, const LayerOperator& op) const;
  [[nodiscard]] Nanoseconds backward_time(const StagePart& part) const;
  [[nodiscard]] Nanoseconds reduction_left(const StagePart& part) const;

  const LayeredModel& model_;
  StageSetting setting_;
  std::vector<Kind> kinds_;
};

}  // namespace espalier
