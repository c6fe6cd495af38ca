#pragma once

#include <span>
#include <vector>

#include "espalier/parallel/banker.h"
#include "espalier/parallel/graph_admission.h"

namespace espalier {

/// The banker's rule (banker.h) for graphs, the order being the witness. An operator
/// works on what it reads and writes, and on its workspace, which is a datum of its own;
/// data are released, unless they are kept, once those have run that read them. The
/// witness fits in the bound, so there never is a horizon: an operator whose inputs exist
/// may start when it fits now, beside all that is in memory, and when after that the rest
/// can still be completed one by one.
///
/// Whatever GraphActivation lets start after the same events, this lets start, too: it
/// counts what is used where that counts what is promised. That is no gain as such:
/// memory may fill with data that nobody can read yet.
///
/// @par Cost    O(k log n) a try, for an operator that reads and writes k data
/// @par Test    GraphAdmission.*
class GraphBanker final : public GraphAdmission {
 public:
  /// As GraphActivation.
  GraphBanker(const TaskGraph& graph, std::span<const TaskId> witness, Bytes bound);
  void begin(std::vector<TaskId>& candidates) override;
  void end(TaskId task, std::vector<TaskId>& candidates) override;
  [[nodiscard]] bool try_start(TaskId task) override;
  /// What is in memory.
  [[nodiscard]] Bytes booked() const override { return banker_.booked(); }

 private:
  const TaskGraph* graph_;
  GraphMemory memory_;
  Banker banker_;
  std::vector<Banker::Op> op_;  // by operator
};

}  // namespace espalier
