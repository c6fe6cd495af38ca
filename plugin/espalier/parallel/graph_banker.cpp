#include "espalier/parallel/graph_banker.h"

#include "espalier/model/error.h"

namespace espalier {
namespace {

std::span<const TaskId> checked(const TaskGraph& graph, std::span<const TaskId> witness,
                                Bytes bound) {
  check_witness(graph, witness, bound);
  return witness;
}

}  // namespace

GraphBanker::GraphBanker(const TaskGraph& graph, std::span<const TaskId> witness,
                         Bytes bound)
    : graph_(&graph),
      accesses_(graph, checked(graph, witness, bound)),
      memory_(graph),
      rule_(bound, [](std::uint32_t, PrefixPeakTree::Place) {}) {
  rule_.book(graph.initial_bytes(), true);
  if (!rule_.unlimited()) rule_.order().assign(accesses_.steps());
}

void GraphBanker::begin(std::vector<TaskId>& candidates) {
  for (std::size_t i = 0; i < graph_->size(); ++i) {
    if (memory_.ready(task_id(i))) candidates.push_back(task_id(i));
  }
}

void GraphBanker::end(TaskId task, std::vector<TaskId>& candidates) {
  rule_.book(-memory_.end(task, candidates), false);
  rule_.end();
}

bool GraphBanker::try_start(TaskId task) {
  ESPALIER_ASSERT(memory_.ready(task), "a candidate");
  return rule_.try_start(accesses_, accesses_.op(task));
}

}  // namespace espalier
