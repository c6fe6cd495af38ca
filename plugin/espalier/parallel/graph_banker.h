#pragma once

#include <span>
#include <vector>

#include "espalier/parallel/banker_rule.h"
#include "espalier/parallel/graph_accesses.h"
#include "espalier/parallel/graph_admission.h"

namespace espalier {

/// The banker's rule (banker_rule.h) for graphs, the order being the witness, the data as
/// GraphAccesses has them. The witness fits in the bound, so there never is a horizon: an
/// operator whose inputs exist may start when it fits now, beside all that is in memory,
/// and when after that the rest can still be completed one by one.
///
/// Whatever GraphActivation lets start after the same events, this lets start, too: it
/// counts what is used where that counts what is promised. That is no gain as such:
/// memory may fill with data that nobody can read yet.
///
/// @par Cost    O(k log n) a try, for an operator that reads k data; at most 40 bytes an
///              operator, and those of GraphAccesses
/// @par Test    GraphAdmission.*
class GraphBanker final : public GraphAdmission {
 public:
  /// As GraphActivation.
  GraphBanker(const TaskGraph& graph, std::span<const TaskId> witness, Bytes bound);
  void begin(std::vector<TaskId>& candidates) override;
  void end(TaskId task, std::vector<TaskId>& candidates) override;
  [[nodiscard]] bool try_start(TaskId task) override;
  /// What is in memory.
  [[nodiscard]] Bytes booked() const override { return rule_.booked(); }

 private:
  const TaskGraph* graph_;
  GraphAccesses accesses_;
  GraphMemory memory_;
  BankerRule rule_;
};

}  // namespace espalier
