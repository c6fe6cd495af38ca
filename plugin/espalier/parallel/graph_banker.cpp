#include "espalier/parallel/graph_banker.h"

#include "espalier/model/error.h"

namespace espalier {

GraphBanker::GraphBanker(const TaskGraph& graph, std::span<const TaskId> witness,
                         Bytes bound)
    : graph_(&graph),
      memory_(graph),
      banker_(bound),
      op_(graph.size(), Banker::Op::kNone) {
  check_witness(graph, witness, bound);
  std::vector<Banker::Datum> data(graph.data()), own;
  for (std::size_t d = 0; d < graph.data(); ++d) {
    const DatumId datum = datum_id(d);
    data[d] = banker_.add(graph.size(datum), !graph.producer(datum), true);
  }
  for (const TaskId task : witness) {
    own.clear();
    for (const DatumId datum : graph.outputs(task)) own.push_back(data[index(datum)]);
    for (const DatumId datum : graph.inputs(task)) own.push_back(data[index(datum)]);
    const Bytes workspace = graph.workspace(task);
    if (workspace > 0) own.push_back(banker_.add(workspace, false, true));
    op_[index(task)] = banker_.append(own);
    if (workspace > 0) banker_.release(own.back());
  }
  for (std::size_t d = 0; d < graph.data(); ++d) {
    if (!graph.stays(datum_id(d))) banker_.release(data[d]);
  }
}

void GraphBanker::begin(std::vector<TaskId>& candidates) {
  for (std::size_t i = 0; i < graph_->size(); ++i) {
    if (memory_.ready(task_id(i))) candidates.push_back(task_id(i));
  }
}

void GraphBanker::end(TaskId task, std::vector<TaskId>& candidates) {
  banker_.end(op_[index(task)], [this](Banker::Datum datum) { banker_.remove(datum); });
  memory_.end(task, candidates);
}

bool GraphBanker::try_start(TaskId task) {
  ESPALIER_ASSERT(memory_.ready(task), "a candidate");
  return banker_.try_start(op_[index(task)]);
}

}  // namespace espalier
