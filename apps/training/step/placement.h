#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "espalier/model/operator_graph.h"
#include "espalier/training/arrange.h"
#include "training/step/arena.h"

namespace espalier::training {

/// Offsets and sizes are multiples of this: a line of the cache, and as wide as the
/// widest vectors.
inline constexpr Bytes kTensorAlignment = 64;

/// The order in which a step runs, and where everything lies, in one arena.
struct StepPlan {
  std::vector<OperatorId> order;
  std::vector<Bytes> tensors;     ///< offsets by tensor
  std::vector<Bytes> workspaces;  ///< offsets by operator
  Bytes bytes = 0;                ///< of the arena
};

/// @param arrangement  of task_graph_of(graph), with alignment kTensorAlignment
[[nodiscard]] StepPlan step_plan(const OperatorGraph& graph,
                                 const Arrangement& arrangement);

/// Where the tensors and workspaces of a graph are.
class Placement {
 public:
  /// At the offsets of a plan. The arena is this object's.
  Placement(const OperatorGraph& graph, const StepPlan& plan);
  /// Each by itself, on the heap, and no two at one place: what a plan is compared with.
  explicit Placement(const OperatorGraph& graph);
  ~Placement();
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  [[nodiscard]] std::byte* tensor(TensorId id) const { return tensors_[index(id)]; }
  [[nodiscard]] std::byte* workspace(OperatorId id) const {
    return workspaces_[index(id)];
  }
  /// The arena's first byte; null: there is none.
  [[nodiscard]] const std::byte* arena() const {
    return arena_ ? arena_->data() : nullptr;
  }
  [[nodiscard]] Bytes bytes() const { return bytes_; }  ///< of all memory

 private:
  std::byte* take(Bytes bytes);

  std::unique_ptr<Arena> arena_;
  std::vector<void*> blocks_;
  std::vector<std::byte*> tensors_, workspaces_;
  Bytes bytes_ = 0;
};

}  // namespace espalier::training
