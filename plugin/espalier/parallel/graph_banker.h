#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/parallel/graph_admission.h"
#include "espalier/parallel/witness_tree.h"

namespace espalier {

/// The banker's test [Dij65] for graphs. An operator whose inputs exist may start when
/// it fits in the bound now, beside all that is in memory, and when after that the rest
/// can still be completed one by one in the order of the witness: with `base` the bytes
/// that remain when all that runs has ended,
///
///   base + sum_{j before i} (alloc_j - free_j) + alloc_i  <=  bound
///
/// for each operator i that has not started, j running over those that have not either:
///   alloc_j  outputs and workspace of j
///   free_j   workspace of j, its outputs that nobody reads, and the data that j is the
///            last to read among those; data that are kept excepted.
///
/// Whatever GraphActivation lets start after the same events, this lets start, too: it
/// counts what is used where that counts what is promised. That is no gain as such:
/// memory may fill with data that nobody can read yet.
///
/// @par Cost    O(k log n) a try, for an operator that reads and writes k data
/// @par Source  the rule of the policy's gate for programs that declare no tree,
///              docs/theory/memory_model.md, on an order that is known in advance
/// @par Test    GraphAdmission.*
class GraphBanker final : public GraphAdmission {
 public:
  /// As GraphActivation.
  GraphBanker(const TaskGraph& graph, std::span<const TaskId> witness, Bytes bound);
  void begin(std::vector<TaskId>& candidates) override;
  void end(TaskId task, std::vector<TaskId>& candidates) override;
  [[nodiscard]] bool try_start(TaskId task) override;
  /// What is in memory.
  [[nodiscard]] Bytes booked() const override { return resident_; }

 private:
  // A read by an operator that has not started, in a list of those of one datum in the
  // order of the witness; ends are kNone.
  struct Read {
    std::int32_t earlier, later;
  };
  static constexpr std::int32_t kNone = -1;

  [[nodiscard]] Bytes stays(TaskId task) const;
  [[nodiscard]] Read& at(std::int32_t read) {
    return reads_[static_cast<std::size_t>(read)];
  }
  void list_reads(std::span<const TaskId> witness);
  void frees(std::int32_t read, DatumId datum, Bytes bytes);
  void leave(TaskId task);
  void rejoin(TaskId task);

  const TaskGraph* graph_;
  GraphMemory memory_;
  WitnessTree rest_;                       // operators that have not started
  std::vector<WitnessTree::Place> place_;  // by operator
  std::vector<std::size_t> first_read_;    // by operator, into reads_
  std::vector<Read> reads_;
  std::vector<TaskId> reader_;      // by read
  std::vector<std::int32_t> last_;  // by datum, into reads_
  Bytes bound_, resident_, base_;
};

}  // namespace espalier
