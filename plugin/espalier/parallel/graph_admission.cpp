#include "espalier/parallel/graph_admission.h"

#include <fmt/format.h>

#include "espalier/model/error.h"
#include "espalier/model/replay_graph.h"

namespace espalier {

GraphMemory::GraphMemory(const TaskGraph& graph)
    : graph_(&graph),
      allocates_(graph.size()),
      missing_(graph.size(), 0),
      readers_left_(graph.data()) {
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const TaskId task = task_id(i);
    allocates_[i] = graph.workspace(task);
    for (const DatumId datum : graph.outputs(task)) allocates_[i] += graph.size(datum);
    for (const DatumId datum : graph.inputs(task)) {
      if (graph.producer(datum)) ++missing_[i];
    }
  }
  for (std::size_t d = 0; d < graph.data(); ++d) {
    readers_left_[d] = static_cast<std::int32_t>(graph.consumers(datum_id(d)).size());
  }
}

Bytes GraphMemory::end(TaskId task, std::vector<TaskId>& ready) {
  Bytes freed = graph_->workspace(task);
  for (const DatumId datum : graph_->inputs(task)) {
    if (--readers_left_[index(datum)] > 0 || graph_->kept(datum)) continue;
    freed += graph_->size(datum);
  }
  for (const DatumId datum : graph_->outputs(task)) {
    const std::span<const TaskId> readers = graph_->consumers(datum);
    if (readers.empty() && !graph_->kept(datum)) freed += graph_->size(datum);
    for (const TaskId reader : readers) {
      if (--missing_[index(reader)] == 0) ready.push_back(reader);
    }
  }
  return freed;
}

void check_witness(const TaskGraph& graph, std::span<const TaskId> witness, Bytes bound) {
  const Bytes peak = replay(graph, witness).peak;  // refuses what is no order
  if (peak <= bound) return;
  throw InvalidInput(
      fmt::format("the witness needs {} bytes, the bound is {}", peak, bound));
}

GraphActivation::GraphActivation(const TaskGraph& graph, std::span<const TaskId> witness,
                                 Bytes bound)
    : memory_(graph),
      witness_(witness.begin(), witness.end()),
      activated_(graph.size(), false),
      bound_(bound),
      booked_(graph.initial_bytes()) {
  check_witness(graph, witness, bound);
}

void GraphActivation::activate(std::vector<TaskId>& candidates) {
  for (; next_ < witness_.size(); ++next_) {
    const TaskId task = witness_[next_];
    if (memory_.allocates(task) > bound_ - booked_) return;
    booked_ += memory_.allocates(task);
    activated_[index(task)] = true;
    if (memory_.ready(task)) candidates.push_back(task);
  }
}

void GraphActivation::end(TaskId task, std::vector<TaskId>& candidates) {
  ready_.clear();
  booked_ -= memory_.end(task, ready_);
  for (const TaskId reader : ready_) {
    if (activated_[index(reader)]) candidates.push_back(reader);
  }
  activate(candidates);
}

bool GraphActivation::try_start([[maybe_unused]] TaskId task) {
  ESPALIER_ASSERT(activated_[index(task)] && memory_.ready(task), "a candidate");
  return true;
}

}  // namespace espalier
