#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/model/task_graph.h"

namespace espalier {

/// Memory of a graph while its operators start and end, in any order that respects it,
/// any number at once.
class GraphMemory {
 public:
  /// The graph must outlive this object.
  explicit GraphMemory(const TaskGraph& graph);

  /// Bytes that the operator adds when it starts: outputs and workspace.
  [[nodiscard]] Bytes allocates(TaskId task) const { return allocates_[index(task)]; }
  /// Whether what the operator reads has been written by operators that have ended.
  [[nodiscard]] bool ready(TaskId task) const { return missing_[index(task)] == 0; }
  /// The operator has ended. Appends those that are ready by it.
  /// @return bytes that go: its workspace, and the data that nobody reads any more
  Bytes end(TaskId task, std::vector<TaskId>& ready);

 private:
  const TaskGraph* graph_;
  std::vector<Bytes> allocates_;
  std::vector<std::int32_t> missing_;  // inputs that have not been written, by operator
  std::vector<std::int32_t> readers_left_;  // by datum
};

/// What decides which operators of a graph may start inside a bound on all workers.
///
/// Each is given a witness: an order whose peak, as replay() has it, is at most the
/// bound. Whatever the durations, and whichever candidates are tried, they keep two
/// promises: memory never exceeds the bound, and when nothing runs one of the candidates
/// may start, so that the job ends. Not thread-safe.
class GraphAdmission {
 public:
  virtual ~GraphAdmission() = default;
  /// Both append candidates: operators that may be tried from now on, each once.
  virtual void begin(std::vector<TaskId>& candidates) = 0;
  virtual void end(TaskId task, std::vector<TaskId>& candidates) = 0;
  /// True: the candidate starts now. False: not before an operator has ended.
  [[nodiscard]] virtual bool try_start(TaskId task) = 0;
  /// What has been set aside, at least what is in memory.
  [[nodiscard]] virtual Bytes booked() const = 0;
};

/// Activation in order, the rule of [ABGL16] for graphs. Strictly in the order of the
/// witness an operator books its outputs and its workspace, as long as that fits; it may
/// start when what it reads has been written. When an operator ends, its workspace and
/// the data that it was the last to read are free again.
///
/// Booked are always the workspaces and the data of a prefix of the witness, without what
/// has been freed: when all of it has ended, memory is that of the witness at this point,
/// and the next operator fits. Until then one of the prefix runs or may start.
///
/// @par Cost  O(1) amortised a call for each datum read or written
/// @par Test  GraphAdmission.*
class GraphActivation final : public GraphAdmission {
 public:
  /// The graph must outlive this object. @throws InvalidInput when `witness` is no order
  /// of the graph or its peak exceeds `bound`
  GraphActivation(const TaskGraph& graph, std::span<const TaskId> witness, Bytes bound);
  void begin(std::vector<TaskId>& candidates) override { activate(candidates); }
  void end(TaskId task, std::vector<TaskId>& candidates) override;
  [[nodiscard]] bool try_start(TaskId task) override;
  [[nodiscard]] Bytes booked() const override { return booked_; }

 private:
  void activate(std::vector<TaskId>& candidates);

  GraphMemory memory_;
  std::vector<TaskId> witness_, ready_;
  std::size_t next_ = 0;  // witness_[next_] is the first not activated
  std::vector<bool> activated_;
  Bytes bound_, booked_;
};

/// @throws InvalidInput when `witness` is no order of the graph or its peak exceeds
///                      `bound`
void check_witness(const TaskGraph& graph, std::span<const TaskId> witness, Bytes bound);

}  // namespace espalier
